package run

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// The quantiles for a second are computed over all its ok requests together, not as a mean over its
// operations; a quantile with too few requests is unknown.
func TestSecondQuantiles(t *testing.T) {
	dir := t.TempDir()
	w, err := histogram.NewLogWriter(filepath.Join(dir, results.FileLatency), time.Unix(100, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []struct {
		second    int64
		operation string
		outcome   workload.Outcome
		timing    results.Timing
		ms, n     int
	}{
		{100, "read", workload.OK, results.TimingService, 1, 95},
		{100, "write", workload.OK, results.TimingService, 8, 5},
		{100, "write", workload.Failed, results.TimingService, 900, 50},
		{100, "write", workload.OK, results.TimingResponse, 900, 50},
		{101, "read", workload.OK, results.TimingService, 2, 99},
	} {
		h := histogram.New()
		for range line.n {
			histogram.Record(h, time.Duration(line.ms)*time.Millisecond)
		}
		series := results.Series{Timing: line.timing, Operation: line.operation, Outcome: line.outcome, Phase: results.PhaseMeasure}
		if err := w.Write(time.Unix(line.second, 0), time.Second, series.Tag(), h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := &Run{Dir: dir, Info: Info{Record: &results.DatabaseRun{}}}
	got := r.SecondQuantiles(.5, .9)
	if len(got) != 2 || len(got[100]) != 2 || len(got[101]) != 2 {
		t.Fatalf("quantiles %v, want two of two seconds", got)
	}
	for _, c := range []struct{ got, want float64 }{{got[100][0], 1}, {got[100][1], 1}, {got[101][0], 2}} {
		if math.Abs(c.got-c.want) > .01*c.want {
			t.Errorf("quantiles %v: %v, want %v", got, c.got, c.want)
		}
	}
	if !math.IsNaN(got[101][1]) {
		t.Errorf("p90 of 99 requests is %v, want unknown", got[101][1])
	}
	if none := (&Run{Info: r.Info}).SecondQuantiles(.5); len(none) != 0 {
		t.Errorf("quantiles without records: %v", none)
	}
}

// Every event is yielded once, or ends another.
func TestHappenings(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	r := &Run{Info: Info{Record: &results.DatabaseRun{}}}
	r.Machines.Events = []results.Event{
		{Time: at(1), Kind: "fault over", Member: 1},
		{Time: at(2), Kind: "fault", Text: "kill", Member: 1},
		{Time: at(4), Kind: "slow", Took: time.Second, Log: "logs/1.log"},
		{Time: at(5), Kind: "fault over", Member: 1},
		{Time: at(6), Kind: "fault over", Member: 1},
		{Time: at(7), Kind: results.EventReconnected, Member: -1},
	}
	type shown struct {
		name          string
		from, to      int64
		asked, effect bool
	}
	var got []shown
	for h := range r.Happenings() {
		got = append(got, shown{h.Name, h.From / 1e9, h.To / 1e9, h.Asked, h.Effect})
	}
	want := []shown{
		{results.EventReconnected, 7, 7, false, true},
		{"fault over", 6, 6, false, true},
		{"slow", 3, 4, false, false},
		{"fault: kill", 2, 5, true, false},
		{"fault over", 1, 1, false, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("happenings %+v, want %+v", got, want)
	}
	for range r.Happenings() {
		break // a reader may stop
	}
}
