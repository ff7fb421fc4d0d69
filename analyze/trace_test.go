package analyze

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/analyze/runtest"
)

// A trace for each run is written on request, and goes with the report that has it.
func TestTrace(t *testing.T) {
	folder := runtest.TwoDatabases(t)
	if _, err := analyzed(t, Options{Folders: []string{folder}, Trace: true}); err != nil {
		t.Fatalf("analyze: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "report", "data", "*-trace.json.gz"))
	if err != nil || len(paths) != 2 {
		t.Fatalf("traces %q (%v), want one of each run", paths, err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		packed, err := gzip.NewReader(f)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var trace struct {
			Events []json.RawMessage `json:"traceEvents"`
		}
		if err := json.NewDecoder(packed).Decode(&trace); err != nil || len(trace.Events) < 50 {
			t.Errorf("%s has %d records: %v", path, len(trace.Events), err)
		}
	}
	if _, err := analyzed(t, Options{Folders: []string{folder}}); err != nil {
		t.Fatalf("analyze: %v", err)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there (%v), without being asked for again", path, err)
		}
	}
}
