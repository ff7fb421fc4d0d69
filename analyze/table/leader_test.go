package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

func TestLeader(t *testing.T) {
	// Seconds after the start of the load and the members found; the load lasts eight.
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
		"one that the manifest has not": {1, []found{{-5, 1}, {3, 7}}, "member 2 (127.0.0.1)"},
		"more than a cell holds": {1, []found{{-5, 1}, {1, 0}, {2, 1}, {3, 0}, {4, 1}, {5, 0}, {6, 1}},
			"member 2 (127.0.0.1), then 1 (127.0.0.1), then 2 (127.0.0.1), then 1 (127.0.0.1), then 2 (127.0.0.1), and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
			record := f.Database("etcd", 2*time.Millisecond)
			record.Leader = tc.manifest
			if tc.events != nil {
				w, err := results.NewEventWriter(filepath.Join(f.Dir, "etcd", results.FileEvents))
				f.Ok(err)
				f.Ok(w.Write(results.Event{Time: record.LoadStart, Kind: "load start", Member: -1}))
				for _, e := range tc.events {
					f.Ok(w.Write(results.Event{Time: record.LoadStart.Add(e.at * time.Second), Kind: results.EventLeader, Member: e.member}))
				}
				f.Ok(w.Close())
			}
			runs, err := run.FromFolder(f.Write())
			f.Ok(err)
			if got := leader(runs[0]); got.Text != tc.want {
				t.Errorf("%q (%s), want %q", got.Text, got.Missing, tc.want)
			}
		})
	}
}

// Unreadable events are reported, and the leader is then taken from the manifest.
func TestLeaderOfBrokenEvents(t *testing.T) {
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.Database("etcd", 2*time.Millisecond)
	f.Ok(os.WriteFile(filepath.Join(f.Dir, "etcd", results.FileEvents), []byte("garbage\n"), 0o644))
	runs, err := run.FromFolder(f.Write())
	f.Ok(err)
	if got := leader(runs[0]); got.Text != "member 2 (127.0.0.1)" || !strings.Contains(strings.Join(runs[0].Gaps.List, "\n"), "events.jsonl is unreadable from line 1") {
		t.Errorf("%q, gaps %q", got.Text, runs[0].Gaps.List)
	}
}
