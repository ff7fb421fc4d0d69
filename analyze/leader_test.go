package analyze

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

func TestLeader(t *testing.T) {
	// Seconds after the load's start and the members found; the load lasts eight.
	type found struct {
		at     time.Duration
		member int
	}
	for name, tc := range map[string]struct {
		manifest int
		events   []found
		want     string
	}{
		"nobody knows":                  {-1, nil, "not measured"},
		"a manifest without events":     {1, nil, "member 2 (127.0.0.1)"},
		"one":                           {0, []found{{-5, 1}}, "member 2 (127.0.0.1)"},
		"another":                       {1, []found{{-5, 1}, {3, 0}}, "member 2 (127.0.0.1), then 1 (127.0.0.1)"},
		"another before the load":       {0, []found{{-5, 1}, {-1, 0}}, "member 1 (127.0.0.1)"},
		"another after it":              {1, []found{{-5, 1}, {9, 0}}, "member 2 (127.0.0.1)"},
		"one that the manifest has not": {1, []found{{-5, 1}, {3, 7}}, "not measured"},
		"more than a cell holds": {1, []found{{-5, 1}, {1, 0}, {2, 1}, {3, 0}, {4, 1}, {5, 0}, {6, 1}},
			"member 2 (127.0.0.1), then 1 (127.0.0.1), then 2 (127.0.0.1), then 1 (127.0.0.1), then 2 (127.0.0.1), and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, filepath.Join(t.TempDir(), "run"))
			run := f.database("etcd", 2*time.Millisecond)
			run.Leader = tc.manifest
			if tc.events != nil {
				w, err := results.NewEventWriter(filepath.Join(f.dir, "etcd", results.FileEvents))
				f.ok(err)
				f.ok(w.Write(results.Event{Time: run.LoadStart, Kind: "load start", Member: -1}))
				for _, e := range tc.events {
					f.ok(w.Write(results.Event{Time: run.LoadStart.Add(e.at * time.Second), Kind: results.EventLeader, Member: e.member}))
				}
				f.ok(w.Close())
			}
			columns, err := readFolder(f.write())
			f.ok(err)
			if got := leader(columns[0]); got.Text != tc.want {
				t.Errorf("%q (%s), want %q", got.Text, got.Missing, tc.want)
			}
		})
	}
}

// Events that cannot be read are told, and the leader is what the manifest says.
func TestLeaderOfBrokenEvents(t *testing.T) {
	f := newFixture(t, filepath.Join(t.TempDir(), "run"))
	f.database("etcd", 2*time.Millisecond)
	f.ok(os.WriteFile(filepath.Join(f.dir, "etcd", results.FileEvents), []byte("garbage\n"), 0o644))
	columns, err := readFolder(f.write())
	f.ok(err)
	if got := leader(columns[0]); got.Text != "member 2 (127.0.0.1)" || !strings.Contains(strings.Join(columns[0].gaps, "\n"), "events.jsonl is unreadable from line 1") {
		t.Errorf("%q, gaps %q", got.Text, columns[0].gaps)
	}
}

func TestSpreadCell(t *testing.T) {
	for _, tc := range []struct {
		q    float64
		n    int64
		want string
		mark bool
	}{
		{.50, 19, "28.901 ms *, n 19", true}, {.50, 20, "28.901 ms, n 20", false},
		{.99, 999, "28.901 ms *, n 999", true}, {.99, 1000, "28.901 ms, n 1,000", false},
		{1, 2, "28.901 ms, n 2", false},
	} {
		got := spreadCell(tc.q, 28_901_000, tc.n)
		if got.Text != tc.want || (len(got.Marks) == 1 && got.Marks[0] == fewMark) != tc.mark {
			t.Errorf("q %g of %d: %q, marks %q", tc.q, tc.n, got.Text, got.Marks)
		}
	}
}

func TestCPUsText(t *testing.T) {
	for want, h := range map[string]results.Host{
		"1 CPU":          {CPUs: 1},
		"4 CPUs":         {CPUs: 4, OnlineCPUs: 4, CPUQuota: 8},
		"4 of 8 CPUs":    {CPUs: 4, OnlineCPUs: 8},
		"1.5 of 64 CPUs": {CPUs: 64, OnlineCPUs: 64, CPUQuota: 1.5},
		"0.5 of 2 CPUs":  {CPUs: 2, CPUQuota: .5},
		"0.25 of 1 CPU":  {CPUs: 1, OnlineCPUs: 1, CPUQuota: .25},
		"16 of 32 CPUs":  {CPUs: 16, OnlineCPUs: 32, CPUQuota: 20},
		"2 of 128 CPUs":  {CPUs: 128, OnlineCPUs: 128, CPUQuota: 2},
	} {
		if got := cpusText(h); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}
