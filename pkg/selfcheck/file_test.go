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

// small is the least that a report holds.
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
		t.Fatal(err)
	}
	if err := r.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	mustWrite(t, path, small())
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small(), got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	// What a run takes over can be read without the rest.
	var part results.SelfCheck
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &part); err != nil || !cmp.Equal(part, small().SelfCheck) {
		t.Errorf("%v: %s", err, cmp.Diff(small().SelfCheck, part))
	}
}

func TestReadRefuses(t *testing.T) {
	with := func(change func(*Report)) string {
		r := small()
		change(r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty":         {"", "the file is empty: the check did not end"},
		"cut":           {`{"date": `, "not a report of dbtester selfcheck: unexpected end of JSON input"},
		"two":           {with(func(*Report) {}) + "{}", "not a report of dbtester selfcheck: invalid character"},
		"a manifest":    {`{"format": 1, "title": "t", "tool": {"version": "v1"}}`, "it has no date"},
		"another shape": {`{"paces": 7}`, "cannot unmarshal number"},
		"no host":       {with(func(r *Report) { r.Host = results.Host{} }), "it names no host"},
		"no rates":      {with(func(r *Report) { r.Paces = nil }), "nothing of rates or waits"},
		"no waits":      {with(func(r *Report) { r.TimerLateness.N = 0 }), "nothing of rates or waits"},
	} {
		path := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}
