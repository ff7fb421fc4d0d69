package sidecar

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
)

func TestSidecar(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "tag-"+results.FileClassicSummary)
	m := &results.Manifest{
		Format: results.FormatVersion, Title: "t", State: results.StateComplete, Validity: []results.Mark{},
		Databases: []*results.DatabaseRun{{Tag: "a", Members: []results.Member{{Version: "3.7.3"}}, Validity: []results.Mark{{Code: "unsent", Invalid: true, Text: "some"}}, Totals: &results.Totals{OK: 3}}},
	}
	if err := Write(summary, m); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("beside nothing: %v", err)
	}
	if err := os.WriteFile(summary, []byte("TOTAL-SECONDS,1.0000\n"), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if _, err := Read(summary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	if err := Write(summary, m); err != nil {
		t.Fatalf("write the manifest of classic files: %v", err)
	}
	got, err := Read(summary)
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Errorf("%v (-written +read):\n%s", err, diff)
	}
	// Another run was exported to the same place, or the files were taken apart.
	if err := os.WriteFile(summary, []byte("TOTAL-SECONDS,2.0000\n"), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if _, err := Read(summary); !errors.Is(err, ErrOtherRun) {
		t.Errorf("beside another summary: %v", err)
	}
	if err := os.Remove(summary); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	if _, err := Read(summary); !errors.Is(err, ErrOtherRun) {
		t.Errorf("beside nothing: %v", err)
	}
	for _, broken := range []string{"{", "{}", `{"format": 99, "databases": [{}]}`} {
		if err := os.WriteFile(Path(summary), []byte(broken), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		if m, err := Read(summary); err == nil {
			t.Errorf("%s is %+v", broken, m)
		}
	}
}
