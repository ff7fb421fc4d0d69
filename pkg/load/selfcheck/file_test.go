package selfcheck

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/results"
)

// small returns a report with only the fields that Read requires.
func small() *Report {
	wait := results.Spread{N: 100, P50: 1000, P99: 2000, Max: 3000}
	return &Report{
		SelfCheck: results.SelfCheck{
			Date: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Host: results.Host{Name: "here", BootID: "boot-1"}, Duration: time.Second,
			HighestRate: 1000, MissedRates: []float64{2000}, TimerLateness: wait, ClientLateness: wait,
		},
		Paces: []Pace{{Rate: 1000, Due: 10, Sent: 10}, {Rate: 2000, Due: 10, Sent: 5}},
	}
}

func mustWrite(t *testing.T, path string, r *Report) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatalf("create the file: %v", err)
	}
	if err := r.Write(f); err != nil {
		t.Fatalf("write the report: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("write the report: %v", err)
	}
}

func TestReadWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	mustWrite(t, path, small())
	got, err := Read(path)
	if err != nil {
		t.Fatalf("read the report: %v", err)
	}
	if diff := cmp.Diff(small(), got); diff != "" {
		t.Errorf("the report must be read as it was written (-want +got):\n%s", diff)
	}
	// A run reads the part in its manifest.
	var part results.SelfCheck
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if err := json.Unmarshal(data, &part); err != nil || !cmp.Equal(part, small().SelfCheck) {
		t.Errorf("the file must be readable as a results.SelfCheck: error %v, %s", err, cmp.Diff(small().SelfCheck, part))
	}
}

func TestReadRefuses(t *testing.T) {
	with := func(change func(*Report)) string {
		r := small()
		change(r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("encode as JSON: %v", err)
		}
		return string(text)
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty":         {"", "the file is empty: the check is running, or failed"},
		"cut":           {`{"date": `, "not a report of dbtester selfcheck: unexpected end of JSON input"},
		"two":           {with(func(*Report) {}) + "{}", "not a report of dbtester selfcheck: invalid character"},
		"a manifest":    {`{"format": 1, "title": "t", "tool": {"version": "v1"}}`, "the date is missing"},
		"another shape": {`{"paces": 7}`, "cannot unmarshal number"},
		"no host":       {with(func(r *Report) { r.Host = results.Host{} }), "the host is missing"},
		"no rates":      {with(func(r *Report) { r.Paces = nil }), "rates or waits are missing"},
		"no waits":      {with(func(r *Report) { r.TimerLateness.N = 0 }), "rates or waits are missing"},
	} {
		path := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one with %q and the file's name", name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: error %v, want %v", err, os.ErrNotExist)
	}
}
