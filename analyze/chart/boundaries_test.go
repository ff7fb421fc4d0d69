package chart

import (
	"fmt"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/google/go-cmp/cmp"
)

func TestBoundaries(t *testing.T) {
	start := time.Unix(runtest.Begin, 0)
	load := func(tag string, starts ...time.Duration) *run.Run {
		r := &run.Run{
			Info:    run.Info{Tag: tag, Record: &results.DatabaseRun{}},
			Windows: run.Windows{Load: run.Span{From: start.UnixNano()}},
		}
		for i, s := range starts {
			if len(starts) > 1 {
				r.Windows.Changes = append(r.Windows.Changes, run.Change{At: start.Add(s).UnixNano(), Label: run.ClientsText(10 * (i + 1))})
			}
		}
		return r
	}
	texts := func(runs ...*run.Run) (out []string) {
		d := &Data{Runs: runs}
		for _, b := range d.overTime("F", "F", figure.Axis{}).Steps {
			out = append(out, fmt.Sprintf("%v %s %d", b.X, b.Label, b.Panel))
		}
		return out
	}
	a, b := load("a", 0, 8*time.Second), load("b", 0, 8400*time.Millisecond)
	late, again := load("late", 0, 12*time.Second), load("late", 0, 20*time.Second)
	for _, test := range []struct {
		name    string
		columns []*run.Run
		want    []string
	}{
		{"one", []*run.Run{a}, []string{"0 10 clients 0", "8 20 clients 0"}},
		{"shared", []*run.Run{a, b}, []string{"0 10 clients 0", "8 20 clients 0"}},
		{"of their own", []*run.Run{a, late}, []string{"0 10 clients 0", "8 20 clients 0", "0 10 clients 1", "12 20 clients 1"}},
		{"of one database", []*run.Run{late, again}, []string{"0 10 clients 0", "12 20 clients 0", "0 10 clients 1", "20 20 clients 1"}},
		{"of one step", []*run.Run{load("c", 0)}, nil},
	} {
		if diff := cmp.Diff(test.want, texts(test.columns...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
