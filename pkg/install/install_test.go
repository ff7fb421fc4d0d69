package install

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is one entry in an archive made for a test.
type item struct {
	name, content, link string
	mode                fs.FileMode
	kind                byte
}

func tarGz(t *testing.T, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, i := range items {
		h := &tar.Header{Name: i.name, Mode: int64(i.mode), Size: int64(len(i.content)), Typeflag: i.kind, Linkname: i.link}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("write the archive header: %v", err)
		}
		if _, err := w.Write([]byte(i.content)); err != nil {
			t.Fatalf("write a file of the archive: %v", err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatalf("close the archive: %v", err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, items ...item) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, i := range items {
		h := &zip.FileHeader{Name: i.name, Method: zip.Deflate}
		h.SetMode(i.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatalf("write the archive header: %v", err)
		}
		if _, err := f.Write([]byte(i.content)); err != nil {
			t.Fatalf("write a file of the archive: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close the writer: %v", err)
	}
	return out.Bytes()
}

// mirror serves files and counts requests.
type mirror struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	asked map[string]int
	// before, if set, may answer instead of the mirror.
	before func(w http.ResponseWriter, r *http.Request, nth int) (answered bool)
}

func newMirror(t *testing.T, files map[string][]byte) *mirror {
	m := &mirror{files: files, asked: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked[r.URL.Path]++
	nth, data := m.asked[r.URL.Path], m.files[r.URL.Path[1:]]
	m.mu.Unlock()
	if m.before != nil && m.before(w, r, nth) {
		return
	}
	if data == nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data)
}

func (m *mirror) count(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[path]
}

func sha256Line(data []byte, name string) []byte {
	return fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(data), name)
}

// goodArchive returns an archive shaped like that of a release, and the recipe for it.
func goodArchive(t *testing.T, base string) (data []byte, way recipe.Archive) {
	data = tarGz(t,
		item{name: "db-v1.2.3/", mode: 0o755, kind: tar.TypeDir},
		item{name: "db-v1.2.3/db", content: "#!/bin/sh\necho db\n", mode: 0o755},
		item{name: "db-v1.2.3/README.md", content: "read me", mode: 0o644},
		item{name: "db-v1.2.3/lib/b.jar", content: "bbb", mode: 0o644},
		item{name: "db-v1.2.3/lib/a.jar", content: "aaaa", mode: 0o644},
		item{name: "db-v1.2.3/lib/latest.jar", link: "b.jar", kind: tar.TypeSymlink},
	)
	return data, recipe.Archive{
		About:       recipe.About{Source: "https://example.com/doc"},
		URL:         base + "/db-v{version}.tar.gz",
		ChecksumURL: base + "/SHA256SUMS",
		TopFolder:   "db-v{version}",
		Files:       map[string]string{"db": "db", "jars": "lib"},
	}
}

func goodMirror(t *testing.T) (*mirror, recipe.Archive) {
	data, _ := goodArchive(t, "")
	other := sha256Line([]byte("other"), "db-v1.2.3.zip")
	m := newMirror(t, map[string][]byte{
		"db-v1.2.3.tar.gz": data,
		"SHA256SUMS":       append(other, sha256Line(data, "db-v1.2.3.tar.gz")...),
	})
	_, way := goodArchive(t, m.URL)
	return m, way
}

func testInstaller(t *testing.T) *Installer {
	return &Installer{
		Cache:      filepath.Join(t.TempDir(), "cache"),
		Progress:   func(line string) { t.Log(line) },
		retryAfter: time.Millisecond,
	}
}

// noLeftovers asserts that nothing is being made and nothing was made.
func noLeftovers(t *testing.T, in *Installer) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(in.Cache, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == in.Cache {
			return err
		}
		rel, _ := filepath.Rel(in.Cache, p)
		if rel != stagingFolder && rel != lockFolder && filepath.Dir(rel) != lockFolder {
			got = append(got, rel)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("walk the folder: %v", err)
	}
	if len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	return string(data)
}

func TestGetArchive(t *testing.T) {
	m, way := goodMirror(t)
	in := testInstaller(t)
	before := time.Now()
	r, err := in.Get(t.Context(), "db", "v1.2.3", []recipe.Recipe{way})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	dir := filepath.Join(in.Cache, "db", "1.2.3")
	lines := fmt.Sprintf("%x  a.jar\n%x  b.jar\n%x  latest.jar\n",
		sha256.Sum256([]byte("aaaa")), sha256.Sum256([]byte("bbb")), sha256.Sum256([]byte("link b.jar")))
	want := Release{
		Name: "db", Version: "1.2.3", Kind: "archive", Source: m.URL + "/db-v1.2.3.tar.gz", Dir: dir,
		Files: map[string]string{"db": filepath.Join(dir, "db"), "jars": filepath.Join(dir, "lib")},
		SHA256: map[string]string{
			"db":   fmt.Sprintf("%x", sha256.Sum256([]byte("#!/bin/sh\necho db\n"))),
			"jars": fmt.Sprintf("%x", sha256.Sum256([]byte(lines))),
		},
		Documented: "https://example.com/doc",
		Bytes:      int64(len("#!/bin/sh\necho db\n") + 7),
		Obtained:   r.Obtained,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	if r.Obtained.Before(before.Add(-time.Second)) || r.Obtained.After(time.Now().Add(time.Second)) {
		t.Errorf("obtained at %v, now is %v", r.Obtained, time.Now())
	}
	if info, err := os.Stat(r.Files["db"]); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the executable is %v, %v", info, err)
	}
	if got := read(t, filepath.Join(r.Files["jars"], "latest.jar")); got != "bbb" {
		t.Errorf("the link leads to %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "README.md")); err == nil {
		t.Error("a file that the recipe does not name was kept")
	}

	// The second time, nothing is requested: the cache finds and lists it.
	again, err := in.Get(t.Context(), "db", "1.2.3", nil)
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	found, missing := in.Find("db", "1.2.3")
	list, err := in.List()
	if missing != nil || err != nil {
		t.Fatalf("find: %v, list: %v", missing, err)
	}
	if diff := cmp.Diff([][]Release{{r}, {r}, {r}}, [][]Release{{again}, {found}, list}); diff != "" {
		t.Errorf("again, found, listed (-want +got):\n%s", diff)
	}
	if n := m.count("/db-v1.2.3.tar.gz"); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}

	// The record holds no absolute path, so a cache can be moved.
	moved := &Installer{Cache: filepath.Join(t.TempDir(), "elsewhere")}
	if err := os.Rename(in.Cache, moved.Cache); err != nil {
		t.Fatalf("rename the file: %v", err)
	}
	r, err = moved.Get(t.Context(), "db", "1.2.3", nil)
	if err != nil || r.Files["db"] != filepath.Join(moved.Cache, "db", "1.2.3", "db") {
		t.Errorf("after a move: %v, %v", r.Files, err)
	}
}

func TestGetZipWithSha512(t *testing.T) {
	data := zipped(t, item{name: "tool", content: "binary", mode: 0o755}, item{name: "LICENSE", content: "x", mode: 0o644})
	name := "tool_1.0_" + runtime.GOOS + "_" + runtime.GOARCH + ".zip"
	m := newMirror(t, map[string][]byte{
		name:             data,
		name + ".sha512": fmt.Appendf(nil, "%X", sha512.Sum512(data)),
	})
	in := testInstaller(t)
	url := m.URL + "/tool_{version}_{os}_{arch}.zip"
	r, err := in.Get(t.Context(), "tool", "1.0", []recipe.Recipe{recipe.Archive{
		About: recipe.About{NotTried: true}, URL: url, ChecksumURL: url + ".sha512", Files: map[string]string{"tool": "tool"},
	}})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	if got := read(t, r.Files["tool"]); got != "binary" {
		t.Errorf("the tool is %q", got)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "never run") {
		t.Errorf("notes %q do not say that the recipe was not tried", r.Notes)
	}
}

// Each bad archive gives its own clear error and leaves nothing behind.
func TestGetArchiveFailures(t *testing.T) {
	good, _ := goodArchive(t, "")
	top := item{name: "db-v1.2.3/db", content: "db", mode: 0o755}
	lib := item{name: "db-v1.2.3/lib/a.jar", content: "a", mode: 0o644}
	tests := map[string]struct {
		data []byte // nil: the good one
		sums []byte // nil: right for data
		max  int64
		want []string
	}{
		"bad checksum":      {sums: sha256Line([]byte("else"), "db-v1.2.3.tar.gz"), want: []string{"bad checksum: db-v1.2.3.tar.gz has SHA-256", "was published"}},
		"unlisted":          {sums: sha256Line(good, "db-v9.tar.gz"), want: []string{"no checksum is given for db-v1.2.3.tar.gz"}},
		"weak checksum":     {sums: []byte("d41d8cd98f00b204e9800998ecf8427e  db-v1.2.3.tar.gz"), want: []string{"not a line with a SHA-256 or SHA-512"}},
		"page for checksum": {sums: []byte("<html>not found</html>"), want: []string{"not a line with a SHA-256"}},
		"empty checksum":    {sums: []byte("\n"), want: []string{"holds no hash"}},
		"not an archive":    {data: []byte("hello"), want: []string{"unpack db-v1.2.3.tar.gz"}},
		"cut before sealed": {data: good[:len(good)/2], want: []string{"unpack db-v1.2.3.tar.gz", "unexpected EOF"}},
		"wrong top folder": {
			data: tarGz(t, item{name: "db-1.2.3/db", content: "db", mode: 0o755}),
			want: []string{"it has no db-v1.2.3/db (at its top: db-1.2.3)"},
		},
		"missing file":     {data: tarGz(t, top), want: []string{"it has no db-v1.2.3/lib"}},
		"empty executable": {data: tarGz(t, item{name: "db-v1.2.3/db", mode: 0o755}, lib), want: []string{"db is not usable", "empty"}},
		"path escape":      {data: tarGz(t, top, lib, item{name: "db-v1.2.3/lib/../../../evil", content: "x"}), want: []string{"leads out of the archive"}},
		"absolute path":    {data: tarGz(t, top, lib, item{name: "/etc/evil", content: "x"}), want: []string{`entry "/etc/evil" leads out of the archive`}},
		"absolute link":    {data: tarGz(t, top, lib, item{name: "db-v1.2.3/lib/x", link: "/etc", kind: tar.TypeSymlink}), want: []string{"leads out of the archive"}},
		"link out of what is kept": {
			data: tarGz(t, top, item{name: "db-v1.2.3/lib/x", link: "../../other", kind: tar.TypeSymlink}, lib),
			want: []string{`link "lib/x" leads to nothing in the release`},
		},
		"link out through another": {
			data: tarGz(t, top, lib, item{name: "db-v1.2.3/lib/d/", kind: tar.TypeDir, mode: 0o755},
				item{name: "db-v1.2.3/lib/d/y", link: "../..", kind: tar.TypeSymlink}, item{name: "db-v1.2.3/lib/d/z", link: "y/../x", kind: tar.TypeSymlink}),
			want: []string{`link "lib/d/z" leads to nothing in the release`},
		},
		"hard link":     {data: tarGz(t, top, item{name: "db-v1.2.3/lib/x", link: "db-v1.2.3/db", kind: tar.TypeLink}), want: []string{"hard link"}},
		"device":        {data: tarGz(t, top, item{name: "db-v1.2.3/lib/x", kind: tar.TypeChar}), want: []string{"neither a file"}},
		"same file two": {data: tarGz(t, top, top, lib), want: []string{"exists"}},
		"through a link": {
			data: tarGz(t, top, item{name: "db-v1.2.3/lib/l", link: "l", kind: tar.TypeSymlink}, item{name: "db-v1.2.3/lib/l/f", content: "x"}),
			want: []string{"unpack"},
		},
		"packed too large":   {max: 40, want: []string{"larger than the limit of 40 bytes"}},
		"unpacked too large": {data: tarGz(t, lib, item{name: "db-v1.2.3/db", content: strings.Repeat("z", 100_000), mode: 0o755}), max: 50_000, want: []string{"unpacked it is larger"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := tt.data
			if data == nil {
				data = good
			}
			sums := tt.sums
			if sums == nil {
				sums = sha256Line(data, "db-v1.2.3.tar.gz")
			}
			m := newMirror(t, map[string][]byte{"db-v1.2.3.tar.gz": data, "SHA256SUMS": sums})
			_, way := goodArchive(t, m.URL)
			in := testInstaller(t)
			in.MaxBytes = tt.max
			_, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
			wantError(t, err, append(tt.want, "install db 1.2.3: archive "+m.URL+"/db-v1.2.3.tar.gz: ")...)
			noLeftovers(t, in)
			if n := m.count("/db-v1.2.3.tar.gz"); n > 1 {
				t.Errorf("%d downloads of what a second try cannot mend", n)
			}
		})
	}
}

// A download that a retry may repair is tried twice, any other once.
func TestDownloadRetry(t *testing.T) {
	cut := func(w http.ResponseWriter, size int) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = w.Write([]byte("half of it"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	tests := map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		nth    int // up to which request the answer is given
		asked  int
		want   []string // in the error; nil: it works
	}{
		"half a body once":  {func(w http.ResponseWriter, _ *http.Request) { cut(w, 1000) }, 1, 2, nil},
		"half a body":       {func(w http.ResponseWriter, _ *http.Request) { cut(w, 1000) }, 9, 2, []string{"the connection was cut after 0.0 MB", "tried twice"}},
		"server error once": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 1, 2, nil},
		"server error":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 9, 2, []string{"the server answered 500"}},
		"too many requests": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, 1, 2, nil},
		"not found":         {http.NotFound, 9, 1, []string{"the server answered 404"}},
		"stalled": {func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 1, 2, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stalls := []time.Duration{0} // the default
			if name == "stalled" {
				// A busy machine may be silent as long as a short one.
				stalls = []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second, 9 * time.Second}
			}
			var m *mirror
			var in *Installer
			var err error
			for _, stall := range stalls {
				var way recipe.Archive
				m, way = goodMirror(t)
				m.before = func(w http.ResponseWriter, r *http.Request, nth int) bool {
					hit := strings.HasSuffix(r.URL.Path, ".tar.gz") && nth <= tt.nth
					if hit {
						tt.answer(w, r)
					}
					return hit
				}
				in = testInstaller(t)
				in.stall = stall
				if _, err = in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way}); !errors.Is(err, errStalled) {
					break
				}
			}
			if n := m.count("/db-v1.2.3.tar.gz"); n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
			if tt.want == nil {
				if err != nil {
					t.Fatalf("install the release: %v", err)
				}
				return
			}
			wantError(t, err, tt.want...)
			noLeftovers(t, in)
		})
	}
}

func TestConcurrentGetsDownloadOnce(t *testing.T) {
	m, way := goodMirror(t)
	var waited atomic.Int64
	m.before = func(http.ResponseWriter, *http.Request, int) bool {
		for end := time.Now().Add(2 * time.Minute); waited.Load() == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // until another finds it taken
		}
		return false
	}
	cache := filepath.Join(t.TempDir(), "cache")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			// Separate installers, like processes.
			in := &Installer{Cache: cache, Progress: func(line string) {
				if strings.Contains(line, "waiting for another install") {
					waited.Add(1)
				}
			}}
			r, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
			if err != nil || r.Verify() != nil {
				t.Errorf("get: %v", err)
			}
		})
	}
	all.Wait()
	if n := m.count("/db-v1.2.3.tar.gz"); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
	if waited.Load() == 0 {
		t.Error("nobody waited, so the test proves nothing")
	}
}

func TestCancel(t *testing.T) {
	why := errors.New("enough")
	t.Run("a download", func(t *testing.T) {
		m, way := goodMirror(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		m.before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !strings.HasSuffix(r.URL.Path, ".tar.gz") {
				return false
			}
			w.(http.Flusher).Flush()
			cancel(why)
			<-r.Context().Done()
			return true
		}
		in := testInstaller(t)
		_, err := in.Get(ctx, "db", "1.2.3", []recipe.Recipe{way, way})
		if !errors.Is(err, why) {
			t.Errorf("error %v does not wrap the cause", err)
		}
		if n := m.count("/db-v1.2.3.tar.gz"); n != 1 {
			t.Errorf("asked %d times after a cancel, want 1", n)
		}
		noLeftovers(t, in)
	})
	t.Run("a wait", func(t *testing.T) {
		in := testInstaller(t)
		unlock, err := in.lock(t.Context(), id{"db", "1.2.3"})
		if err != nil {
			t.Fatalf("lock the release: %v", err)
		}
		defer unlock()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
		defer cancel()
		if _, err = in.Get(ctx, "db", "1.2.3", nil); !errors.Is(err, why) {
			t.Errorf("error %v does not wrap the cause", err)
		}
	})
	t.Run("before the start", func(t *testing.T) {
		_, way := goodMirror(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		in := testInstaller(t)
		if _, err := in.Get(ctx, "db", "1.2.3", []recipe.Recipe{way}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v is not a cancel", err)
		}
		noLeftovers(t, in)
	})
}

// Every recipe is tried in order and every failure is reported. The one that works wins.
func TestRecipesInOrder(t *testing.T) {
	m, good := goodMirror(t)
	in := testInstaller(t)
	in.Lookup = func(name string) (string, error) { return "", fs.ErrNotExist }
	gone := good.At(m.URL + "/gone")
	source := recipe.GoBuild{Module: "example.com/db", Packages: map[string]string{"db": "example.com/db"}}
	jars := recipe.Maven{Artifact: "org.example:db", Tool: "db"}
	needy := good
	needy.About.Needs = []string{"frobnicator"}
	_, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{gone, source, jars, needy, recipe.Local{Path: "/nonexistent", Files: map[string]string{"db": "db"}}})
	wantError(t, err, "install db 1.2.3: none of 5 recipes worked",
		"archive "+m.URL+"/gone/db-v1.2.3.tar.gz: fetch "+m.URL+"/gone/SHA256SUMS: the server answered 404",
		"go build of example.com/db@v1.2.3: go is needed but was not found (install Go from https://go.dev/dl)",
		"maven dependencies of org.example:db:1.2.3: mvn is needed but was not found (install Maven",
		"frobnicator is needed but was not found",
		"copy of /nonexistent")
	noLeftovers(t, in)

	r, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{gone, source, good})
	if err != nil || r.Kind != "archive" {
		t.Errorf("the recipe that works gave %q, %v", r.Kind, err)
	}
}

// The tools on the machine that a release needs join its tools. If they are missing later, that is
// an error too.
func TestNeeds(t *testing.T) {
	_, way := goodMirror(t)
	way.About.Needs = []string{"java"}
	in := testInstaller(t)
	in.Lookup = func(name string) (string, error) { return "/opt/" + name, nil }
	r, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	if err != nil || r.Files["java"] != "/opt/java" {
		t.Fatalf("java is %q, %v", r.Files["java"], err)
	}
	in.Lookup = func(string) (string, error) { return "", fs.ErrNotExist }
	_, err = in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	wantError(t, err, "java is needed but was not found (install a Java runtime")
	if _, err := in.Find("db", "1.2.3"); err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "java") {
		t.Errorf("find without java: %v", err)
	}
	list, err := in.List()
	wantError(t, err, "java is needed")
	if len(list) != 1 {
		t.Errorf("%d releases are listed, want 1", len(list))
	}
}

func TestDamagedCache(t *testing.T) {
	_, way := goodMirror(t)
	in := testInstaller(t)
	r, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Files["jars"], "a.jar"), []byte("aaab"), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	_, err = in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	wantError(t, err, "damaged", "remove "+r.Dir, "lib has SHA-256")
	if err := os.Remove(r.Files["db"]); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	if _, err := in.Find("db", "1.2.3"); err == nil || errors.Is(err, ErrAbsent) {
		t.Errorf("find without its executable: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, releaseFile), []byte("{"), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	_, err = in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	wantError(t, err, releaseFile)
	if err := os.Remove(filepath.Join(r.Dir, releaseFile)); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	_, err = in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	wantError(t, err, "is not a release: remove it")
}

// A record that points outside its release is refused.
func TestRecordIsNotTrusted(t *testing.T) {
	in := testInstaller(t)
	for name, record := range map[string]string{
		"outside":    `{"name":"db","version":"1","files":{"db":"../../etc/passwd"}}`,
		"absolute":   `{"name":"db","version":"1","files":{"db":"/bin/sh"}}`,
		"other name": `{"name":"other","version":"1","files":{}}`,
	} {
		dir := filepath.Join(in.Cache, "db", "1")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, releaseFile), []byte(record), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		if r, err := in.Find("db", "1"); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("%s: found %+v", name, r)
		}
	}
}

func TestStaleStagingIsSwept(t *testing.T) {
	_, way := goodMirror(t)
	in := testInstaller(t)
	stale := func(key string) string {
		dir := filepath.Join(in.Cache, stagingFolder, key)
		if err := os.MkdirAll(filepath.Join(dir, "release"), 0o755); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "release", "db"), []byte("half"), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return dir
	}
	own, dead, busy := stale("db@1.2.3"), stale("dead@1"), stale("busy@1")
	unlock, err := in.lock(t.Context(), id{"busy", "1"})
	if err != nil {
		t.Fatalf("lock the release: %v", err)
	}
	defer unlock()
	if _, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way}); err != nil {
		t.Fatalf("install the release: %v", err)
	}
	for dir, want := range map[string]bool{own: false, dead: false, busy: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
}

func TestNamesAndVersions(t *testing.T) {
	for _, ok := range [][2]string{{"etcd", "3.6.16"}, {"etcd", "v3.6.16"}, {"a-b_c", "1.0-rc.1+x"}, {"x", "main"}, {"x", "v"}} {
		if _, err := newID(ok[0], ok[1]); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	in := testInstaller(t)
	for _, bad := range [][2]string{{"", "1"}, {"etcd", ""}, {"..", "1"}, {"etcd", ".."}, {"a/b", "1"}, {"a", "1/2"}, {".tmp", "1"}, {"a@b", "1"}, {"a", "1\x00"}, {"a", strings.Repeat("1", 101)}} {
		if _, err := in.Get(t.Context(), bad[0], bad[1], nil); err == nil {
			t.Errorf("%q was accepted", bad)
		}
		if _, err := in.Find(bad[0], bad[1]); err == nil {
			t.Errorf("%q was found", bad)
		}
	}
	noLeftovers(t, in)
	_, err := in.Get(t.Context(), "db", "9", nil)
	wantError(t, err, "there is no recipe")
}

// The layout of a recipe cannot lead out of the release or replace its record.
func TestLayoutIsChecked(t *testing.T) {
	in := testInstaller(t)
	for _, files := range []map[string]string{{"db": "../x"}, {"db": "/x"}, {"db": "."}, {"db": "release.json"}, {"../db": "db"}} {
		_, err := in.Get(t.Context(), "db", "1", []recipe.Recipe{recipe.Local{Path: t.TempDir(), Files: files}})
		if err == nil {
			t.Errorf("%v was accepted", files)
		}
		noLeftovers(t, in)
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []string{"3.4.14", "3.4.23", "3.5.5", "3.5.10", "3.6.0-rc1", "3.6.16", "3.10", "10"}
	for i := range ordered {
		for j := range ordered {
			if got, want := compareVersions(ordered[i], ordered[j]), compareInts(i, j); got != want {
				t.Errorf("compare %s with %s: %d, want %d", ordered[i], ordered[j], got, want)
			}
		}
	}
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestParseSums(t *testing.T) {
	a, b := strings.Repeat("ab", 32), strings.Repeat("cd", 64)
	got, err := parseSums("# comment\n" + strings.ToUpper(a) + "  x.tar.gz\n\n" + b + " *dir/y.zip\r\n")
	want := sums{{a, "x.tar.gz"}, {b, "dir/y.zip"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sum{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if line, err := got.of("y.zip"); err != nil || line.hex != b {
		t.Errorf("y.zip: %v, %v", line, err)
	}
	if _, err := got.of("z"); err == nil {
		t.Error("a sum was given for a file that has none")
	}
}
