package analyze

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// FuzzRecords replaces some bytes in one record of a complete run. Either the report is made, or
// the error has the reason.
func FuzzRecords(f *testing.F) {
	f.Add(uint8(0), uint16(20), uint16(4), []byte("null"))
	f.Add(uint8(1), uint16(200), uint16(1), []byte("9"))
	f.Add(uint8(2), uint16(0), uint16(9999), []byte(nil))
	f.Add(uint8(3), uint16(40), uint16(10), []byte("-1,NaN,1e99"))
	f.Add(uint8(4), uint16(100), uint16(0), []byte("99999999999"))
	f.Add(uint8(5), uint16(3), uint16(3), []byte("\n\n\""))
	f.Fuzz(func(t *testing.T, which uint8, at, cut uint16, put []byte) {
		fixture := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
		fixture.Database("etcd-v3.6", 2*time.Millisecond)
		dir := fixture.Write()
		var files []string
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		fixture.Ok(err)
		path := files[int(which)%len(files)]
		data, err := os.ReadFile(path)
		fixture.Ok(err)
		from := min(int(at), len(data))
		to := min(from+int(cut), len(data))
		fixture.Ok(os.WriteFile(path, slices.Concat(data[:from], put, data[to:]), 0o600))
		d, err := newDocument(t.Context(), Options{Folders: []string{dir}})
		if (d == nil) == (err == nil) {
			t.Errorf("%v and %v, want a report or an error", d, err)
		}
		if filepath.Base(path) != results.FileManifest && err != nil {
			t.Errorf("a broken %s: %v, want a gap of the report", filepath.Base(path), err)
		}
	})
}
