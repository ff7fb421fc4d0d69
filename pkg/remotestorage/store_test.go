package remotestorage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/remotestorage/storagetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// stores run every test in the contract.
var stores = []struct {
	name  string
	start func(*testing.T) *storagetest.Emulator
}{{"gs", newGCS}, {"s3", newS3}, {"file", newFolder}}

func open(t *testing.T, address string, o Options) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// folder writes files and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatalf("write a file: %v", err)
		}
	}
	return dir
}

// contents reads a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	return files
}

// A folder that is sent and fetched is the same, and sent again only where it
// changed, also if the size did not.
func TestFolder(t *testing.T) {
	files := map[string]string{"manifest.json": "{}", "etcd/client.csv": "a,b\n1,2\n", "etcd/empty.log": "", "etcd/1 é+%.svg": "<svg/>"}
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			e := store.start(t)
			address := e.URL("")
			dir := folder(t, files)
			b := open(t, address, Options{})
			if store.name != "file" {
				address = e.URL("deep/er")
				b = open(t, address, Options{})
			}
			send := func() Summary {
				t.Helper()
				sum, err := Upload(t.Context(), b, Folder{Dir: dir, Name: "run", Last: "manifest.json"}, nil)
				if err != nil {
					t.Fatalf("upload: %v", err)
				}
				return sum
			}
			if diff := cmp.Diff(Summary{Files: 4, Sent: 4, Bytes: 16, SentBytes: 16}, send()); diff != "" {
				t.Errorf("first upload (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Summary{Files: 4, Present: 4, Bytes: 16}, send()); diff != "" {
				t.Errorf("an upload of what is there must send nothing (-want +got):\n%s", diff)
			}
			if err := os.WriteFile(filepath.Join(dir, "etcd/client.csv"), []byte("a,b\n1,3\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Summary{Files: 4, Sent: 1, Present: 3, Bytes: 16, SentBytes: 8}, send()); diff != "" {
				t.Errorf("only the changed file must be sent (-want +got):\n%s", diff)
			}
			to := filepath.Join(t.TempDir(), "back")
			if _, err := Download(t.Context(), open(t, strings.TrimSuffix(address, "/")+"/run", Options{}), to, Bounds{Objects: 1000, Bytes: 1 << 30}, nil); err != nil {
				t.Fatalf("download: %v", err)
			}
			if diff := cmp.Diff(contents(t, dir), contents(t, to)); diff != "" {
				t.Errorf("what came back differs (-want +got):\n%s", diff)
			}
		})
	}
}

// large is a file that does not fit into a few parts, bytes.
const large = 72<<20 + 12345

// largeFile writes a file, large bytes long, and returns its folder.
func largeFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{1}), large)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatalf("write a large file: %v", err)
	}
	return dir
}

// A large file is sent in parts whose connection is cut once. It is known as the
// same afterwards.
func TestLargeFileOverCutConnection(t *testing.T) {
	slowtest.Skip(t)
	dir := largeFile(t)
	for _, store := range stores[:2] {
		t.Run(store.name, func(t *testing.T) {
			e := store.start(t)
			b := open(t, e.URL("dir"), Options{})
			var cuts atomic.Int32
			e.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.ContentLength < 1<<20 || cuts.Add(1) != 3 {
					return false
				}
				_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
				panic(http.ErrAbortHandler) // cuts the connection
			})
			var last Progress
			sum, err := Upload(t.Context(), b, Folder{Dir: dir, Name: "run"}, func(p Progress) { last = p })
			if err != nil || sum.SentBytes != large {
				t.Fatalf("upload: %+v, %v, want %d bytes sent despite a cut connection", sum, err, large)
			}
			if cuts.Load() < 3 {
				t.Errorf("%d large requests were seen; the cut was not reached", cuts.Load())
			}
			if last.Files != 1 || last.Now != "run/latency.hlog" {
				t.Errorf("the last report was %+v", last)
			}
			if sum, err = Upload(t.Context(), b, Folder{Dir: dir, Name: "run"}, nil); err != nil || sum.Present != 1 {
				t.Errorf("upload again: %+v, %v, want the file known as present", sum, err)
			}
		})
	}
}

// A file is streamed: memory stays below its size.
func TestStreams(t *testing.T) {
	dir := largeFile(t)
	e := newFolder(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Upload(t.Context(), open(t, e.URL(""), Options{}), Folder{Dir: dir}, nil); err != nil {
		t.Fatalf("upload: %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > large/4 {
		t.Errorf("sending %d bytes allocated %d", large, n)
	}
}

// Stores that refuse are reported as they are, and not asked again and again.
func TestRefusals(t *testing.T) {
	refuse := func(status int, body string, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
	denied := map[string]string{
		"gs": `{"error": {"code": 403, "message": "a@example.com does not have storage.objects.create access", "errors": [{"reason": "forbidden"}]}}`,
		"s3": `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no s3:PutObject</Message></Error>`,
	}
	want := map[string]string{"gs": "does not have storage.objects.create access", "s3": "no s3:PutObject"}
	for _, store := range stores[:2] {
		t.Run(store.name, func(t *testing.T) {
			e := store.start(t)
			b := open(t, e.URL("dir"), Options{})
			var asked atomic.Int32
			e.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				done := refuse(http.StatusForbidden, denied[store.name], w, r)
				if done {
					asked.Add(1)
				}
				return done
			})
			sum, err := Upload(t.Context(), b, Folder{Dir: folder(t, map[string]string{"a": "1"})}, nil)
			if err == nil || !strings.Contains(err.Error(), want[store.name]) || sum.Sent != 0 {
				t.Errorf("upload to a bucket that is read-only: %+v, %v, want the reason of the store", sum, err)
			}
			if store.name == "s3" && asked.Load() != 1 || asked.Load() > clientAttempts {
				t.Errorf("the store was asked %d times after its refusal", asked.Load())
			}
			e.Intercept(func(http.ResponseWriter, *http.Request) bool { return false })
			if sum, err := Upload(t.Context(), b, Folder{Dir: folder(t, map[string]string{"a": "1"})}, nil); err != nil || sum.Sent != 1 {
				t.Errorf("the upload after it: %+v, %v", sum, err)
			}
			if _, err := Open(t.Context(), store.name+"://absent/dir", Options{}); err == nil || !strings.Contains(err.Error(), `bucket "absent" does not exist`) {
				t.Errorf("open a bucket that does not exist: %v", err)
			}
			made := open(t, store.name+"://absent/dir", Options{Create: true, Project: "p"})
			if _, err := Upload(t.Context(), made, Folder{Dir: folder(t, map[string]string{"a": "1"})}, nil); err != nil {
				t.Errorf("upload to a bucket that was created: %v", err)
			}
		})
	}
}

// Wrong credentials are reported by the opening, before anything is sent.
func TestWrongCredentials(t *testing.T) {
	t.Run("gs", func(t *testing.T) {
		e := newGCS(t)
		reply, status := `{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`, http.StatusBadRequest
		tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, reply)
		}))
		defer tokens.Close()
		key := serviceAccount(t, tokens.URL)
		if _, err := Open(t.Context(), e.URL("dir"), Options{KeyFile: key}); err == nil || !strings.Contains(err.Error(), "Invalid JWT Signature") {
			t.Errorf("open with a revoked key: %v", err)
		}
		reply, status = `{"access_token": "from-the-key-file", "token_type": "Bearer", "expires_in": 3600}`, http.StatusOK
		var sent atomic.Value
		e.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			sent.Store(r.Header.Get("Authorization"))
			return false
		})
		open(t, e.URL("dir"), Options{KeyFile: key})
		if sent.Load() != "Bearer from-the-key-file" {
			t.Errorf("the bucket was asked with %q, want the token of the key file", sent.Load())
		}
	})
	t.Run("s3", func(t *testing.T) {
		e := newS3(t)
		e.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.Header.Get("Authorization"), "Credential=right/") {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist.</Message></Error>`)
			return true
		})
		if _, err := Open(t.Context(), e.URL("dir"), Options{}); err == nil || !strings.Contains(err.Error(), "InvalidAccessKeyId") {
			t.Errorf("open with a wrong key: %v", err)
		}
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		if _, err := Open(t.Context(), e.URL("dir"), Options{}); err == nil || !strings.Contains(err.Error(), "find AWS credentials") {
			t.Errorf("open without credentials: %v", err)
		}
		dir := folder(t, map[string]string{"key": "[default]\naws_access_key_id = right\naws_secret_access_key = s\n"})
		open(t, e.URL("dir"), Options{KeyFile: filepath.Join(dir, "key")})
	})
}

// A folder stands for a bucket: it is not made unless asked for, and one that cannot
// be written is reported.
func TestFolderRefusals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	if _, err := Open(t.Context(), "file://"+dir, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open a folder that does not exist: %v", err)
	}
	open(t, "file://"+dir, Options{Create: true})
	if os.Geteuid() == 0 {
		t.Log("root may write everywhere; the rest needs another user")
		return
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Upload(t.Context(), open(t, "file://"+dir, Options{}), Folder{Dir: folder(t, map[string]string{"a": "1"})}, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("upload to a folder that is read-only: %v", err)
	}
}

// damaging is a store that stores something else, a given number of times.
type damaging struct {
	Store
	times int
}

func (d *damaging) Write(ctx context.Context, name string, c Content, r io.Reader) error {
	if d.times--; d.times >= 0 {
		c.MD5, r = nil, strings.NewReader(strings.Repeat("X", int(c.Size)))
	}
	return d.Store.Write(ctx, name, c, r)
}

// An object with the right size and the wrong contents is found and sent again.
func TestDamaged(t *testing.T) {
	slowtest.Skip(t)
	dir := folder(t, map[string]string{"a": "1234"})
	for times, want := range map[int]error{1: nil, attempts: errDiffers} {
		e := newFolder(t)
		_, err := Upload(t.Context(), &damaging{open(t, e.URL(""), Options{}), times}, Folder{Dir: dir}, nil)
		if !errors.Is(err, want) {
			t.Errorf("%d damaged transfers: %v, want %v", times, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"gs://b": "", "gs://b/d/e/": "", "s3://b/d": "", "file:///d": "",
		"http://b/d": "gs://bucket/folder", "b/d": "gs://bucket/folder", "gs:///d": "must name a bucket",
		"file://d": "absolute path", "s3://b/d?region=x": "a bucket and a folder alone",
	} {
		if err := Check(address); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
