package load

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// TestSecondsLeaveLittleGarbage: what a second leaves behind, with failures and
// with its records written to files, is small beside the heap, or the heap would
// grow with the load's length until a collection that a load without garbage of
// its own hardly ever needs.
func TestSecondsLeaveLittleGarbage(t *testing.T) {
	const seconds, atMost = 10, 8 << 10
	files, err := NewFiles(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	spec := Spec{Operation: database.OpWrite}
	rec := NewRecorder(files, spec.Operations(), nil)
	st, flights := steady(t, rec, spec, 1000)
	refused := errors.New("refused")
	second := func() {
		sec := rec.flushed + 1
		at := rec.fromUnix(sec)
		for i := range 10_000 {
			d := done{due: at, sent: at + int64(i%1000)*1000, end: at + int64(i)*100_000, phase: measure}
			if i%100 == 0 {
				d.outcome, d.class, d.err = database.Failed, database.ClassOther, refused
				rec.fails.record(rec, &d)
			}
			rec.shardOf(i).record(rec, flights[i%len(flights)], &d)
		}
		rec.flush(sec, false)
	}
	rec.allocate(st)
	for range 4 { // the first failures take the memory they need
		second()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range seconds {
		second()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / seconds; n > atMost {
		t.Errorf("a second leaves %d bytes behind, at most %d are expected", n, atMost)
	}
}

// TestStepAllocatesAtItsStart: requests that end well find every histogram made.
func TestStepAllocatesAtItsStart(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		spec := Spec{Mix: []Share{{database.OpRead, 1}, {database.OpWrite, 1}}, WarmUp: time.Second, CoolDown: time.Second}
		rec := NewRecorder(discard{}, spec.Operations(), nil)
		st := &step{Engine: NewEngine(spec, rec), Step: Step{Rate: rate, Duration: 10 * time.Second}}
		st.phases()
		rec.allocate(st)
		for _, s := range rec.shards {
			for _, slot := range append(s.slots[:], rec.spare, rec.merged) {
				for n := range slot {
					if slot[n].latency[service].histogram == nil || (slot[n].latency[response].histogram == nil) != (rate == 0) {
						t.Fatalf("rate %v: tally %d has the histograms %v", rate, n, slot[n].latency)
					}
				}
			}
		}
	}
}

func TestPhasesOfAStep(t *testing.T) {
	for _, c := range []struct {
		spec     Spec
		duration time.Duration
		want     [numPhases]bool
	}{
		{Spec{}, 0, [numPhases]bool{false, true, false}},
		{Spec{}, time.Minute, [numPhases]bool{false, true, false}},
		{Spec{WarmUp: time.Second}, 0, [numPhases]bool{true, true, false}},
		{Spec{CoolDown: time.Second}, 0, [numPhases]bool{false, true, false}},
		{Spec{WarmUp: time.Second, CoolDown: time.Second}, time.Minute, [numPhases]bool{true, true, true}},
	} {
		s := &step{Engine: &Engine{spec: c.spec}, Step: Step{Duration: c.duration}}
		s.phases()
		if got := [numPhases]bool{s.has(warmUp), s.has(measure), s.has(coolDown)}; got != c.want {
			t.Errorf("warm-up %v and cool-down %v of %v: phases %v, want %v", c.spec.WarmUp, c.spec.CoolDown, c.duration, got, c.want)
		}
	}
}
