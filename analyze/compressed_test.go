package analyze

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// Compressed records make the report that plain ones make.
func TestCompressedRecords(t *testing.T) {
	t.Parallel()
	dir, out := runtest.TwoDatabases(t), filepath.Join(t.TempDir(), "report")
	report := func() map[string]string {
		if _, err := analyzed(t, Options{Folders: []string{dir}, Out: out, Seconds: true}); err != nil {
			t.Fatalf("analyze: %v", err)
		}
		return tree(t, out)
	}
	want := report()
	n := 0
	for _, tag := range []string{"etcd-v3.6", "slow-v3.6"} {
		files, err := results.Compress(filepath.Join(dir, tag), 0)
		if err != nil {
			t.Fatalf("compress the records: %v", err)
		}
		n += len(files)
	}
	if n < 6 {
		t.Errorf("%d files were compressed: the test compares nothing", n)
	}
	if diff := cmp.Diff(want, report()); diff != "" {
		t.Errorf("the report of compressed records (-plain +compressed):\n%s", diff)
	}
}
