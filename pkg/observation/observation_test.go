package observation

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// scratch has a value for each way to merge.
func scratch() Group {
	return Group{Name: "scratch", Values: []Value{
		{Name: "events", Unit: "events", Definition: "events that arrived", Merging: Sum},
		{Name: "most", Unit: "watchers", Definition: "most watchers", Merging: Max},
		{Name: "least", Unit: "watchers", Definition: "least watchers", Merging: Min},
		{Name: "delay", Unit: "ns", Definition: "delays of events", Merging: Times, Row: "DELAY", After: "UPKEEP"},
	}}
}

// at returns a time in a second.
func at(second int64) time.Time { return time.Unix(second, 500) }

// Numbers merge within a second, over the parts of a load, and over seconds, each in its own way.
// Times lose nothing.
func TestMerge(t *testing.T) {
	g := scratch()
	a, b := NewRecorder(g), NewRecorder(g)
	a.Add("events", at(10), 0, 3)
	a.Add("events", at(10), 0, 4)
	b.Add("events", at(10), 0, 5)
	a.Add("most", at(10), 0, 7)
	b.Add("most", at(10), 0, 9)
	a.Add("least", at(10), 0, 7)
	b.Add("least", at(10), 0, 9)
	a.Add("events", at(10), 1, 100) // the next step, in the same second
	for i := range 30 {
		a.Add("delay", at(11), 1, int64(i+1)*1000)
		b.Add("delay", at(11), 1, 50_000)
	}
	b.Add("delay", at(11), 1, -1) // clocks differ
	if early := a.Take(10); early != nil {
		t.Errorf("before second 10 there is %+v, want nothing", early)
	}
	first := a.Take(11)
	if len(first) != 2 || first[0].Step != 0 || first[1].Step != 1 {
		t.Fatalf("before second 11 there is %+v, want both steps of second 10", first)
	}
	merged := g.Merge(append(first, a.Take(math.MaxInt64)...), b.Take(math.MaxInt64))
	if len(merged) != 3 {
		t.Fatalf("merged %+v, want three rows", merged)
	}
	got := merged[0].Numbers
	if got[0].Value != 12 || got[1].Value != 9 || got[2].Value != 7 || got[3].N != 0 {
		t.Errorf("second 10 is %+v, want 12 events, 9 and 7 watchers, and no delay", got)
	}
	total := g.Total(merged)
	delay := total["delay"]
	if delay.N != 61 || delay.Value != 30*31/2*1000+30*50_000 || delay.Longest != 50*time.Microsecond || delay.P99 != 0 {
		t.Errorf("the delays are %+v, want 61 of up to 50us, too few for a p99", delay)
	}
	if p50 := delay.P50; p50 < 29*time.Microsecond || p50 > 31*time.Microsecond {
		t.Errorf("the median delay is %v, want 30us", p50)
	}
	if total["events"].Value != 112 || total["most"].Value != 9 || total["least"].Value != 7 {
		t.Errorf("totals %+v, want 112 events, at most 9 watchers and at least 7", total)
	}
	if _, has := g.Total(nil)["most"]; has {
		t.Error("there is a maximum of nothing")
	}
}

// Written data is read back, and a maximum without observations stays unknown. The log for times
// has each second.
func TestFiles(t *testing.T) {
	g, dir := scratch(), t.TempDir()
	r := NewRecorder(g)
	r.Add("events", at(10), 0, 3)
	r.Add("most", at(11), 2, 0)
	r.Add("delay", at(11), 2, 5_000)
	seconds := r.Take(math.MaxInt64)
	w, err := NewWriter(g, dir, at(10))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(seconds[:1]), w.Write(seconds[1:]), w.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "scratch.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want := "second,step,events,most,least,delay_n,delay_sum_ns,delay_max_ns\n10,0,3,,,0,0,0\n11,2,,0,,1,5000,5000\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	again, err := Read(g, dir)
	if diff := cmp.Diff(seconds, again, cmpopts.IgnoreFields(Number{}, "Times")); err != nil || diff != "" {
		t.Errorf("read again (-want +got), %v:\n%s", err, diff)
	}
	lines := 0
	for line, err := range histogram.ReadBuckets(filepath.Join(dir, "scratch.hlog")) {
		lines++
		if err != nil || line.Tag != "delay:step2" || line.Start.Unix() != 11 || line.Buckets.Total() != 1 {
			t.Errorf("line %+v, %v, want one delay of step 2 in second 11", line, err)
		}
	}
	if lines != 1 {
		t.Errorf("the log has %d lines, want 1", lines)
	}
	if err := os.WriteFile(filepath.Join(dir, "scratch.csv"), data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	if cut, err := Read(g, dir); len(cut) != 1 || !errors.Is(err, linefile.ErrTruncated) {
		t.Errorf("of a cut file %+v and %v are read, want its first row", cut, err)
	}
}

// A mistaken name is found by the first test that observes it.
func TestUndeclared(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a name that is not declared must panic")
		}
	}()
	NewRecorder(scratch()).Add("evnts", at(1), 0, 1)
}

// Totals print their units, and times without percentiles that too few support.
func TestText(t *testing.T) {
	g := scratch()
	for want, total := range map[string]Total{
		"12,345 events": {N: 3, Value: 12345},
	} {
		if got := total.Text(g.Values[0]); got != want {
			t.Errorf("%+v prints %q, want %q", total, got, want)
		}
	}
	if got := (Total{N: 2, Longest: 1500 * time.Microsecond}).Text(g.Values[3]); got != "2, longest 1.5000 ms" {
		t.Errorf("times print %q", got)
	}
	if got := (Total{N: 1, Value: 3_000_000}).Text(Value{Unit: "bytes", Merging: Sum}); got != "3.0 MB" {
		t.Errorf("bytes print %q", got)
	}
}
