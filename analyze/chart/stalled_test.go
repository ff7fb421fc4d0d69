package chart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Each stall is a strip at its time in its database's colour, with the events that it coincided
// with. If there are many, the longest ones in a run are drawn, in order.
func TestMarkStalls(t *testing.T) {
	begin := time.Unix(1000, 5e8)
	of := func(tag string, stalls ...run.Stall) *run.Run {
		r := &run.Run{Info: run.Info{Tag: tag, Record: &results.DatabaseRun{Tag: tag, Database: tag}}, Stalls: run.Stalls{List: stalls}}
		r.Windows.Load.From = begin.UnixNano()
		return r
	}
	var many []run.Stall
	for i := range mostStalls + 10 {
		many = append(many, run.Stall{From: begin.Add(time.Duration(i) * time.Second), Length: time.Duration(100+i%2*200) * time.Millisecond})
	}
	fault := run.Stall{From: begin.Add(2 * time.Second), Length: 300 * time.Millisecond, Coincided: []run.Overlap{{Kind: "fault: kill", Length: 200 * time.Millisecond}}}
	d := &Data{Runs: []*run.Run{of("etcd", fault), of("consul", many...), of("zookeeper")}}
	var f figure.Figure
	d.markStalls(&f)
	if len(f.Grey) != 1+mostStalls || len(f.Notes) != 1 || !strings.HasSuffix(f.Notes[0], "; 51 of 61, the longest of each run") {
		t.Fatalf("%d strips and the notes %q", len(f.Grey), f.Notes)
	}
	want := figure.Stretch{From: 2, To: 2.3, Key: 1, Text: "etcd: stall of 0.3 s after 2.0 s, coincided with fault: kill (0.2 s)"}
	if f.Grey[0] != want {
		t.Errorf("the first strip is %+v, want %+v", f.Grey[0], want)
	}
	long := 0
	for _, s := range f.Grey[1:] {
		if s.Panel != 1 || s.Key != 2 || !strings.HasSuffix(s.Text, run.Nothing) {
			t.Errorf("strip %+v, want one of the second database with nothing", s)
		}
		if s.To-s.From > .2 {
			long++
		}
	}
	if long != len(many)/2 || !slices.IsSortedFunc(f.Grey[1:], func(a, b figure.Stretch) int { return int(a.From - b.From) }) {
		t.Errorf("%d long stalls are drawn, want all %d, in order", long, len(many)/2)
	}
	f = figure.Figure{}
	(&Data{Runs: []*run.Run{of("etcd", fault)}}).markStalls(&f)
	if len(f.Grey) != 1 || strings.HasPrefix(f.Grey[0].Text, "etcd") {
		t.Errorf("the strips of one database are %+v, want one without its name", f.Grey)
	}
	f = figure.Figure{}
	(&Data{Runs: []*run.Run{of("etcd")}}).markStalls(&f)
	if len(f.Grey)+len(f.Notes) != 0 {
		t.Errorf("without stalls: %+v", f)
	}
}
