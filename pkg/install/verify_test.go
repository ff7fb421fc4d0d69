package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A release.json that names no files or no hashes proves nothing.
func TestVerifyNeedsHashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, _, err := hashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"etcd": path}
	for name, tc := range map[string]struct {
		release Release
		want    string
	}{
		"whole":      {Release{Files: files, SHA256: map[string]string{"etcd": sum}}, ""},
		"of machine": {Release{Files: map[string]string{"etcd": path, "java": "/java"}, Needs: []string{"java"}, SHA256: map[string]string{"etcd": sum}}, ""},
		"no hashes":  {Release{Files: files}, "must have the SHA-256 of etcd"},
		"no files":   {Release{}, "must name files"},
	} {
		err := tc.release.Verify()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
