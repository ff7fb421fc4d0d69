package results

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzReaders passes any text to the record readers. They return rows or an error.
func FuzzReaders(f *testing.F) {
	err := filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(filepath.Dir(path))) == "fuzz" {
			return err
		}
		data, err := os.ReadFile(path)
		if len(data) <= 8<<10 {
			f.Add(data)
		}
		return err
	})
	if err != nil {
		f.Fatalf("read the records: %v", err)
	}
	for _, text := range []string{
		`{"format":1,"databases":[null]}`, `{"format":2,"databases":[{"tag":"../up"}]}`, `{"format":99}`,
		`{"time":"2026-01-02T15:04:05Z","kind":"start","member":-1}` + "\n", "UNIX-SECOND,STEP\n99999999999999999999,1\n", "a,\"b\nc\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, FileManifest)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatalf("write the record: %v", err)
		}
		folder, err := Open(dir)
		if err != nil {
			t.Fatalf("open the folder: %v", err)
		}
		if m, err := folder.Manifest(); err == nil {
			for i, d := range m.Databases {
				if d == nil || !filepath.IsLocal(d.Tag) || filepath.Base(d.Tag) != d.Tag {
					t.Errorf("database %d of a manifest that is read: %+v", i, d)
				}
			}
		}
		_, _ = ReadIntervals(path)
		_, _ = ReadProgress(path)
		_ = EachMemberSecond(path, 3, func(*MemberSecond) {})
		_, _ = ReadMemberHistograms(path, 3)
		_, _ = ReadErrors(path)
		_, _ = ReadEvents(path, 3)
		_, _ = ReadSamples(path)
		_, _ = ReadDatabaseSamples(path)
		_, _ = ReadTotals(path)
	})
}
