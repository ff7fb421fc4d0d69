package regularfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/files/regularfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	plain, fifo, link := filepath.Join(dir, "plain"), filepath.Join(dir, "fifo"), filepath.Join(dir, "link")
	if err := os.WriteFile(plain, []byte("12345"), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatalf("make a named pipe: %v", err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	for path, want := range map[string]string{
		plain: "", link: "",
		fifo:        "must be a regular file, got a FIFO",
		dir:         "must be a regular file, got a directory",
		"/dev/zero": "must be a regular file, got a device",
	} {
		data, err := regularfile.Read(path, 5)
		switch {
		case want == "" && (err != nil || string(data) != "12345"):
			t.Errorf("%s: %q, %v; want its contents", path, data, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want an error with %q", path, err, want)
		}
	}
	if _, err := regularfile.Read(plain, 4); err == nil || !strings.Contains(err.Error(), "at most 4 bytes") {
		t.Errorf("a file of 5 bytes: %v, want it refused above 4", err)
	}
}

// A folder with anything that leads elsewhere is refused.
func TestOnly(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "deep")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := regularfile.Only(dir); err != nil {
		t.Errorf("folders and files: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := regularfile.Only(link); err == nil || !strings.Contains(err.Error(), "must be a folder, got a symbolic link") {
		t.Errorf("a link to a folder: %v", err)
	}
	for name, made := range map[string]func(string) error{
		"a symbolic link": func(path string) error { return os.Symlink("/dev/null", path) },
		"a FIFO":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		path := filepath.Join(deep, "evil")
		if err := made(path); err != nil {
			t.Fatal(err)
		}
		if err := regularfile.Only(dir); err == nil || !strings.Contains(err.Error(), "must be a regular file, got "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
