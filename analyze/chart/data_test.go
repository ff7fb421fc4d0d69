package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Only loads whose every request creates a key count keys.
func TestCounted(t *testing.T) {
	for name, test := range map[string]struct {
		load workload.Load
		want string
	}{
		"writes":    {workload.Load{Content: workload.Content{Operation: workload.OpWrite}}, "Keys"},
		"classic":   {workload.Load{}, "Keys"},
		"reads":     {workload.Load{Content: workload.Content{Operation: workload.OpRead}}, "Requests"},
		"updates":   {workload.Load{Content: workload.Content{Operation: workload.OpUpdate}}, "Requests"},
		"one key":   {workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Keyspace: workload.Keyspace{SameKey: true}}, "Requests"},
		"mixed":     {workload.Load{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpWrite, Weight: 1}, {Operation: workload.OpRead, Weight: 1}}}}, "Requests"},
		"of writes": {workload.Load{Content: workload.Content{Mix: []workload.Share{{Operation: workload.OpWrite, Weight: 1}}}}, "Keys"},
	} {
		d := &Data{Runs: []*run.Run{{Info: run.Info{Record: &results.DatabaseRun{Load: results.Load{Load: test.load}}}}}}
		if got := d.counted(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The set rate of a step does not show the capacity at its client count.
func TestRatedStepsAreNotDrawnByClients(t *testing.T) {
	d := &Data{}
	for i, clock := range []run.Clock{run.FromSent, run.FromDue} {
		r := &run.Run{
			Info:   run.Info{Tag: []string{"closed", "rated"}[i], Record: &results.DatabaseRun{}},
			Load:   run.Load{Seconds: []run.Second{{Unix: 1, Clients: 1, OK: 5}, {Unix: 2, Clients: 5, OK: 9}}},
			Stages: []*run.Stage{{Clients: 1, Latency: run.Latency{Clock: clock, OK: run.Unmeasured("no matter")}}, {Clients: 5, Latency: run.Latency{Clock: clock, OK: run.Unmeasured("no matter")}}},
		}
		d.Runs, d.Series = append(d.Runs, r), append(d.Series, NewSeries(r))
	}
	all := clientFigures(d)
	if len(all) == 0 || len(all[0].Series) != 1 || all[0].Series[0].Name != "closed" || len(all[0].Notes) != 1 {
		t.Errorf("figures %+v, want the closed loop alone and a note on the other", all)
	}
	if all := clientFigures(&Data{Runs: d.Runs[1:], Series: d.Series[1:]}); len(all) != 0 {
		t.Errorf("%d figures of rated steps alone", len(all))
	}
}

// Every figure has the marks that weaken the numbers, marks that the trials of a database share
// once, and no other marks.
func TestMarkNotes(t *testing.T) {
	d := &Data{}
	for n := 1; n <= 2; n++ {
		m := &results.Manifest{Trial: n, Trials: 2}
		for _, tag := range []string{"etcd", "consul"} {
			r := &run.Run{Info: run.Info{Tag: tag, Manifest: m, Record: &results.DatabaseRun{Tag: tag}}}
			if n > 1 {
				r.Info.Tag += " #2"
			}
			d.Runs = append(d.Runs, r)
			for _, code := range []string{mark.SharedHost, mark.Gap, mark.Expected} {
				d.Marks = append(d.Marks, run.Mark{Tag: r.Info.Tag, Mark: results.Mark{Code: code, Text: "text"}})
			}
		}
	}
	d.Marks = append(d.Marks,
		run.Mark{Tag: "etcd #2", Mark: results.Mark{Code: "late", Text: "text"}},
		run.Mark{Tag: "consul #2", Mark: results.Mark{Code: "keys found", Text: "3 are missing", Invalid: true}})
	want := []string{"consul: INVALID keys found: 3 are missing", "all: shared host", "etcd: late"}
	if diff := cmp.Diff(want, d.MarkNotes()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
