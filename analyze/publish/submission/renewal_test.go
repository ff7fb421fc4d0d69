package submission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// digested returns the record of the only database in a folder, and where its files are.
func digested(t *testing.T, dir string) (*results.DatabaseRun, string) {
	t.Helper()
	folder, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := folder.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return m.Databases[0], folder.Path(m.Databases[0].Tag)
}

// TestDigests: an archive has digests of its own files, with a list of the files that packing
// changed. A damaged record is refused.
func TestDigests(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	run := published(t, "quickstart")
	_, packed := pack(t, Options{Run: run})
	record, tag := digested(t, packed)
	files, err := results.Digest(tag)
	if err != nil {
		t.Fatal(err)
	}
	if d := record.Digests; d == nil || len(d.ByFile) != len(files) || len(files) < 8 || len(d.Check(tag)) > 0 {
		t.Fatalf("digests %+v of %d files", d, len(files))
	}
	_, twice := pack(t, Options{Run: packed})
	again, _ := digested(t, twice)
	if before, after := len(record.Digests.Changes), len(again.Digests.Changes); before == 0 || after != before {
		t.Errorf("packed once: %+v, twice: %+v", record.Digests.Changes, again.Digests.Changes)
	}
	for _, file := range []string{results.FileMembers, results.FileClock, results.ServerFile(1)} {
		path := filepath.Join(tag, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cut := data[:len(data)*2/3]
		if err := os.WriteFile(path, cut[:strings.LastIndexByte(string(cut), '\n')+1], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Pack(Options{Run: packed, To: filepath.Join(t.TempDir(), "x.tar.gz")}); err == nil || !strings.Contains(err.Error(), file+" has ") {
			t.Errorf("%s was cut: %v, want it refused", file, err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
