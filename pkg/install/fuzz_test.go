package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzRelease gives the cache any release record. Every path it finds lies inside the release, and
// a release verifies only by hashes.
func FuzzRelease(f *testing.F) {
	f.Add(`{"name":"etcd","version":"3.6.16","kind":"archive","files":{"etcd":"etcd"},"sha256":{"etcd":"00"}}`)
	f.Add(`{"name":"etcd","version":"3.6.16","files":{"etcd":"../../../sh"}}`)
	f.Add(`{"files":null,"sha256":null}`)
	f.Add(`[null]`)
	f.Fuzz(func(t *testing.T, record string) {
		in := &Installer{Cache: t.TempDir()}
		dir := in.dir(id{"etcd", "3.6.16"})
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("make the release: %v", err)
		}
		for name, text := range map[string]string{"etcd": "x", releaseFile: record} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatalf("write the release: %v", err)
			}
		}
		r, err := in.Find("etcd", "3.6.16")
		if err != nil {
			return
		}
		for tool, path := range r.Files {
			own := true
			for _, need := range r.Needs {
				own = own && need != tool
			}
			if own && !strings.HasPrefix(path, dir+string(filepath.Separator)) {
				t.Errorf("tool %q is %q, want it below %q", tool, path, dir)
			}
		}
		if err := r.Verify(); err == nil && len(r.SHA256) == 0 {
			t.Errorf("%q verifies without hashes", record)
		}
	})
}

// FuzzParseSums gives any text to the parser for checksum files.
func FuzzParseSums(f *testing.F) {
	f.Add(strings.Repeat("0", 64) + "  etcd.tar.gz\n" + strings.Repeat("a", 128) + " *x\n")
	f.Add("# nothing\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseSums(text)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%q: %v and %v", text, list, err)
		}
		for _, s := range list {
			if n := s.newHash().Size(); len(s.hex) != 2*n {
				t.Errorf("%q: a sum of %d digits for a hash of %d bytes", text, len(s.hex), n)
			}
		}
	})
}
