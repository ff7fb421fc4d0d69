package load

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestTiesAtTheWindowsEnd: requests end in the very nanosecond in which the window
// ends. The window is half-open, and includes the moment at which issuing ends early.
func TestTiesAtTheWindowsEnd(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		step      workload.Step
		takes     []time.Duration // request durations, in sending order
		interrupt time.Duration
		timeout   time.Duration
		window    time.Duration
		want      int64
	}{
		"the only request ends the window":     {step: workload.Step{Clients: 1, Requests: 1, Duration: 100 * ms}, takes: []time.Duration{6 * ms}, window: 6*ms + 1, want: 1},
		"the first answer of four ends it":     {step: workload.Step{Clients: 4, Requests: 4, Duration: 109 * ms}, takes: []time.Duration{31 * ms, 32 * ms, 33 * ms, 34 * ms}, window: 31*ms + 1, want: 1},
		"at the deadline of the request":       {step: workload.Step{Clients: 1, Requests: 1, Duration: 109 * ms}, takes: []time.Duration{31 * ms}, timeout: 31 * ms, window: 31*ms + 1, want: 1},
		"the planned end":                      {step: workload.Step{Clients: 1, Duration: 100 * ms}, takes: []time.Duration{10 * ms}, window: 100 * ms, want: 9},
		"the planned end of a rate":            {step: workload.Step{Clients: 1, Rate: 100, Duration: 100 * ms}, takes: []time.Duration{10 * ms}, window: 100 * ms, want: 9},
		"without a duration, all are inside":   {step: workload.Step{Clients: 2, Requests: 10}, takes: []time.Duration{10 * ms}, window: 50*ms + 1, want: 10},
		"an interrupt in the answer's instant": {step: workload.Step{Clients: 1, Duration: time.Minute}, takes: []time.Duration{10 * ms}, interrupt: 50 * ms, window: 50*ms + 1, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Timeout = max(c.timeout, 0)
				ctx := t.Context()
				if c.interrupt > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, startIn+c.interrupt)
					defer cancel()
				}
				var mu sync.Mutex
				n := -1
				r := recordStep(t, ctx, dir, spec, Step{Step: c.step}, func(context.Context) error {
					mu.Lock()
					n++
					wait := c.takes[n%len(c.takes)]
					mu.Unlock()
					time.Sleep(wait)
					return nil
				})
				if r.Served.OK != c.want || r.inside() != c.want {
					t.Errorf("%d requests were served in [%v, %v) by the record and %d by the test's clock, want %d", r.Served.OK, r.from, r.to, r.inside(), c.want)
				}
				if r.Window != c.window {
					t.Errorf("window of %d ns, want %d", r.Window, c.window)
				}
			})
		})
	}
}

// TestRecordsWhileIssuingEnds: clients record at the moment when issuing ends. Each request is
// counted on the side of the window's end where it ended.
func TestRecordsWhileIssuingEnds(t *testing.T) {
	for range 200 {
		rec := NewRecorder(discard{}, []workload.Op{workload.OpWrite}, nil)
		st := &step{plan: plan{Step: Step{Step: workload.Step{Clients: 4, Duration: time.Minute}}, spec: writes(), start: rec.clock.Now()}, rec: rec, stop: newStopTime()}
		st.schedule = newSchedule(st.spec, st.Step)
		st.phases()
		rec.begin(&st.plan, nil)
		ended := make([][]int64, st.Clients)
		var clients sync.WaitGroup
		for n := range ended {
			clients.Go(func() {
				var f flight
				for len(ended[n]) < 100 || rec.clock.Now() < rec.issueEnd.at() {
					now := rec.clock.Now()
					rec.shards.of(n).record(&f, &done{due: now, sent: now, end: now, phase: measure, outcome: workload.OK, member: unknownMember})
					ended[n] = append(ended[n], now)
				}
			})
		}
		rec.endIssue(func() int64 { return rec.clock.Now() + 1 })
		clients.Wait()
		var ticks []tickCounts
		for _, s := range rec.shards.all {
			s.ticks.take(1<<40, &ticks)
		}
		g := st.grid(rec.issueEnd)
		var got, want int64
		for _, k := range ticks {
			if _, to := g.bounds(k.number); to <= g.cut() {
				got += k.ops[0].ended[workload.OK]
			}
		}
		for _, client := range ended {
			for _, at := range client {
				if at < g.cut() {
					want++
				}
			}
		}
		if got != want {
			t.Fatalf("%d requests are recorded before the end of issuing, want the %d that ended before it", got, want)
		}
	}
}

// TestEndFoundLate: the process was stopped for longer than a schedule looks ahead. Issuing then
// ends when the end is found, so that no window ends before requests counted inside.
func TestEndFoundLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := NewRecorder(discard{}, []workload.Op{workload.OpWrite}, nil)
		spec := writes()
		spec.Arrival = workload.ArrivalPoisson
		st := &step{plan: plan{Step: Step{Step: workload.Step{Clients: 1, Requests: 1000, Rate: 100, Duration: time.Minute}}, spec: spec, start: rec.clock.Now()}, rec: rec, stop: newStopTime()}
		st.schedule = newSchedule(spec, st.Step)
		st.work, _ = spec.sequence(1)
		st.phases()
		rec.begin(&st.plan, nil)
		time.Sleep(20 * time.Second)
		now := rec.clock.Now()
		for sec := rec.clock.Second(0); sec < rec.clock.Second(now); sec++ {
			rec.offered.in(sec, func(int64, []int64) {})
		}
		if end := rec.issueEnd.at(); end != now+1 {
			t.Errorf("issuing ended at %v, want just after %v, when that was found", time.Duration(end), time.Duration(now))
		}
		if rec.offered.due != 1000 {
			t.Errorf("%d requests were offered, want all 1000", rec.offered.due)
		}
	})
}
