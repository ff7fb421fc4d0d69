package install

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// writeTree writes files, executable if their path has no dot.
func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path, mode := filepath.Join(dir, name), os.FileMode(0o755)
		if strings.Contains(name, ".") {
			mode = 0o644
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
}

func TestLocal(t *testing.T) {
	src := t.TempDir()
	writeTree(t, src, map[string]string{"bin/db": "program", "lib/a.jar": "a", "lib/sub/b.jar": "b", "notes.txt": "n"})
	if err := os.Symlink(filepath.Join(src, "lib", "a.jar"), filepath.Join(src, "lib", "link.jar")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	in := testInstaller(t)
	r, err := in.Get(t.Context(), "db", "1", []recipe.Recipe{recipe.Local{Path: src, Files: map[string]string{"db": "bin/db", "jars": "lib"}}})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	for path, want := range map[string]string{
		r.Files["db"]: "program", r.Files["jars"] + "/a.jar": "a", r.Files["jars"] + "/sub/b.jar": "b", r.Files["jars"] + "/link.jar": "a",
	} {
		if got := read(t, path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if r.Kind != "local" || r.Source != src || !strings.Contains(strings.Join(r.Notes, "\n"), "not compared") {
		t.Errorf("kind %q, source %q, notes %q", r.Kind, r.Source, r.Notes)
	}
	// It is a copy: changes to the original do not affect it.
	if err := os.RemoveAll(src); err != nil {
		t.Fatalf("remove the folder: %v", err)
	}
	if _, err := in.Get(t.Context(), "db", "1", nil); err != nil {
		t.Errorf("install the release: %v", err)
	}
}

func TestLocalFile(t *testing.T) {
	src := t.TempDir()
	writeTree(t, src, map[string]string{"db-linux.bin": "program"})
	in := testInstaller(t)
	r, err := in.Get(t.Context(), "db", "1", []recipe.Recipe{recipe.Local{Path: filepath.Join(src, "db-linux.bin"), Files: map[string]string{"db": ""}}})
	if err != nil {
		t.Fatalf("install the release: %v", err)
	}
	info, err := os.Stat(r.Files["db"])
	if err != nil || info.Mode().Perm()&0o111 == 0 || filepath.Base(r.Files["db"]) != "db" {
		t.Errorf("%s: %v, %v", r.Files["db"], info, err)
	}
}

func TestLocalFailures(t *testing.T) {
	src := t.TempDir()
	writeTree(t, src, map[string]string{"lib/a.jar": "a", "empty/x/y.jar": ""})
	if err := syscall.Mkfifo(filepath.Join(src, "pipe"), 0o644); err != nil {
		t.Fatalf("make a named pipe: %v", err)
	}
	if err := os.Mkdir(filepath.Join(src, "nothing"), 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	for name, tt := range map[string]struct{ path, rel, want string }{
		"missing":         {src, "gone", "no such file"},
		"a pipe":          {src, "pipe", "not a regular file"},
		"empty directory": {src, "nothing", "empty directory"},
		"empty file":      {src, "empty/x/y.jar", "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			in := testInstaller(t)
			_, err := in.Get(t.Context(), "db", "1", []recipe.Recipe{recipe.Local{Path: tt.path, Files: map[string]string{"db": tt.rel}}})
			wantError(t, err, "copy of "+src, tt.want)
			noLeftovers(t, in)
		})
	}
}

// From accepts all sources a user may have: a mirror with archives on the web or in a directory, an
// unpacked release, an executable.
func TestFrom(t *testing.T) {
	archive, way := goodArchive(t, "https://example.com/releases")
	source := recipe.GoBuild{Packages: map[string]string{"db": "example.com/db"}, Module: "example.com/db"}
	web, _ := goodMirror(t)
	mirrorDir, unpacked, built := t.TempDir(), t.TempDir(), t.TempDir()
	writeTree(t, mirrorDir, map[string]string{"db-v1.2.3.tar.gz": string(archive), "SHA256SUMS": string(sha256Line(archive, "db-v1.2.3.tar.gz"))})
	writeTree(t, unpacked, map[string]string{"db": "program", "lib/a.jar": "a"})
	writeTree(t, built, map[string]string{"my-db": "program"})
	both := []recipe.Recipe{way, source}
	for name, tt := range map[string]struct {
		where   string
		recipes []recipe.Recipe
		kind    string
	}{
		"web mirror": {web.URL + "/", both, "archive"},
		"mirror":     {mirrorDir, both, "archive"},
		"unpacked":   {unpacked, both, "local"},
		"executable": {filepath.Join(built, "my-db"), []recipe.Recipe{source}, "local"},
	} {
		t.Run(name, func(t *testing.T) {
			recipes, err := recipe.From(tt.where, tt.recipes)
			if err != nil {
				t.Fatalf("find the recipes: %v", err)
			}
			in := testInstaller(t)
			r, err := in.Get(t.Context(), "db", "1.2.3", recipes)
			if err != nil {
				t.Fatalf("install the release: %v", err)
			}
			if r.Kind != tt.kind || r.Files["db"] == "" {
				t.Errorf("kind %q, files %v", r.Kind, r.Files)
			}
		})
	}
	for name, tt := range map[string]struct {
		where   string
		recipes []recipe.Recipe
	}{
		"no such place":           {"/nonexistent", both},
		"a mirror of no archive":  {"https://example.com", []recipe.Recipe{source}},
		"one file for many tools": {filepath.Join(built, "my-db"), []recipe.Recipe{way}},
	} {
		if got, err := recipe.From(tt.where, tt.recipes); err == nil {
			t.Errorf("%s: no error but %v", name, got)
		}
	}
	// A mirror of a release does not fall back to the web.
	recipes, err := recipe.From(built, []recipe.Recipe{way})
	if err != nil {
		t.Fatalf("find the recipes: %v", err)
	}
	in := testInstaller(t)
	_, err = in.Get(t.Context(), "db", "1.2.3", recipes)
	wantError(t, err, "none of 2 recipes worked", filepath.Join(built, "SHA256SUMS"), "copy of "+built)
	noLeftovers(t, in)
}

func TestNoRedirectToPlainHTTP(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	safe := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer safe.Close()
	client := safe.Client()
	client.CheckRedirect = checkRedirect
	in := testInstaller(t)
	in.Client = client
	_, way := goodArchive(t, safe.URL)
	_, err := in.Get(t.Context(), "db", "1.2.3", []recipe.Recipe{way})
	wantError(t, err, "refused a redirect from https to http://")
}

// smallDisk mounts a file system with a few pages, for as long as the test runs.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir
}

// A full disk is reported, by every kind of recipe, and afterwards has as much free space as
// before.
func TestFullDisk(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 32<<10/16*8) // 256 KiB, packs well
	src := t.TempDir()
	writeTree(t, src, map[string]string{"db": big, "db.tar.gz": ""})
	packed := tarGz(t, item{name: "db", content: big, mode: 0o755})
	loose := []byte(big) // an archive that is too large itself; it is not unpacked
	for name, way := range map[string]recipe.Recipe{
		"copying":     recipe.Local{Path: src, Files: map[string]string{"db": "db"}},
		"unpacking":   mirrorOf(t, packed),
		"downloading": mirrorOf(t, loose),
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t)
			in := testInstaller(t)
			in.Cache = filepath.Join(disk, "cache")
			_, err := in.Get(t.Context(), "db", "1", []recipe.Recipe{way})
			wantError(t, err, "no space left on device", "the disk of the cache "+in.Cache+" is full")
			noLeftovers(t, in)
		})
	}
	t.Run("building", func(t *testing.T) {
		disk := smallDisk(t)
		in := testInstaller(t)
		in.Cache = filepath.Join(disk, "cache")
		in.Lookup = fakeTools(t, map[string]string{"go": `exec dd if=/dev/zero of="$GOTMPDIR/x" bs=4k count=100`})
		_, err := in.Get(t.Context(), "tiny", "1.2.3", []recipe.Recipe{tinyRecipe(t, nil)})
		wantError(t, err, "no space left on device", "is full")
		noLeftovers(t, in)
	})
}

// mirrorOf serves an archive with its checksum.
func mirrorOf(t *testing.T, data []byte) recipe.Archive {
	m := newMirror(t, map[string][]byte{"db.tar.gz": data, "db.sum": sha256Line(data, "db.tar.gz")})
	return recipe.Archive{URL: m.URL + "/db.tar.gz", ChecksumURL: m.URL + "/db.sum", Files: map[string]string{"db": "db"}}
}

// A file among the release folders is not a release.
func TestListSkipsFiles(t *testing.T) {
	in := testInstaller(t)
	dir := filepath.Join(in.Cache, "parts")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatalf("write a file: %v", err)
	}
	if list, err := in.List(); err != nil || len(list) > 0 {
		t.Errorf("listed %v, error %v, want nothing", list, err)
	}
}
