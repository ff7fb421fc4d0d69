package results

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSidecar(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "tag-"+FileClassicSummary)
	m := &Manifest{
		Format: FormatVersion, Title: "t", State: StateComplete, Validity: []Mark{},
		Databases: []*DatabaseRun{{Tag: "a", Members: []Member{{Version: "3.7.3"}}, Validity: []Mark{{Code: "unsent", Invalid: true, Text: "some"}}, Totals: &Totals{OK: 3}}},
	}
	if err := WriteSidecar(summary, m); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("beside nothing: %v", err)
	}
	if err := os.WriteFile(summary, []byte("TOTAL-SECONDS,1.0000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSidecar(summary); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	if err := WriteSidecar(summary, m); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSidecar(summary)
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Errorf("%v (-written +read):\n%s", err, diff)
	}
	// Another run was exported to the same place, or the files were taken apart.
	if err := os.WriteFile(summary, []byte("TOTAL-SECONDS,2.0000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSidecar(summary); !errors.Is(err, ErrOtherRun) {
		t.Errorf("beside another summary: %v", err)
	}
	if err := os.Remove(summary); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSidecar(summary); !errors.Is(err, ErrOtherRun) {
		t.Errorf("beside nothing: %v", err)
	}
	for _, broken := range []string{"{", "{}", `{"format": 99, "databases": [{}]}`} {
		if err := os.WriteFile(SidecarPath(summary), []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if m, err := ReadSidecar(summary); err == nil {
			t.Errorf("%s is %+v", broken, m)
		}
	}
}
