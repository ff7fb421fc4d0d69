package load

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestWorkersThatMiscount: a step fails if a worker sends a request twice, or takes
// a request without sending it, in an open and in a closed loop. A client plays these
// workers.
func TestWorkersThatMiscount(t *testing.T) {
	twice := func(r *Recorder, op int) {
		now, f := r.clock.Now(), &flight{}
		f.word.Store(packFlight(now, measure, op, 0))
		r.shards.of(0).record(f, &done{due: now, sent: now, end: now, phase: measure, op: op})
	}
	never := func(r *Recorder) (op int) {
		i, _, _ := r.offered.plan.schedule.Next()
		op = r.offered.plan.work.Op(i)
		return op
	}
	for _, c := range []struct {
		name string
		do   func(*Recorder)
		sums bool // the totals add up nevertheless
	}{
		{"twice", func(r *Recorder) { twice(r, 0) }, false},
		{"never", func(r *Recorder) { never(r) }, false},
		{"one never and another twice", func(r *Recorder) { twice(r, 1-never(r)) }, true},
	} {
		for _, rate := range []float64{0, 1000} {
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Mix = []workload.Share{{Operation: workload.OpWrite, Weight: 1}, {Operation: workload.OpUpdate, Weight: 1}}
				spec.Keys = 10
				sink := newMemory()
				rec := NewRecorder(sink, spec.Operations(), nil)
				var calls atomic.Int64
				_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 3, Requests: 2000, Rate: rate}}, []database.Client{
					script(func(context.Context, []byte, []byte) error {
						if calls.Add(1) == 50 {
							c.do(rec)
						}
						return nil
					}),
				})
				got := rec.Totals()
				if got.Offered != 2000 || got.Reconcile() != c.sums || err == nil || !strings.Contains(err.Error(), "account for step 0") {
					t.Errorf("%s at a rate of %v: %+v, error %v, want 2000 offered and an error of the accounts", c.name, rate, got, err)
				}
				if diff := cmp.Diff(got, sink.sums()); diff != "" {
					t.Errorf("%s at a rate of %v: rows must sum to the totals: %s", c.name, rate, diff)
				}
			})
		}
	}
}

// TestInterruptIsExact interrupts loads in real time, at a rate that clients hardly
// keep. Exactly the requests due before the interrupt are offered, in whatever state
// the clients are then.
func TestInterruptIsExact(t *testing.T) {
	why := errors.New("interrupted")
	for n := range 40 {
		spec := writes()
		spec.Arrival, spec.Drain = workload.Arrivals()[n%2], time.Duration(n%3)*time.Millisecond
		step := Step{Step: workload.Step{Clients: 1 + n*5, Requests: 1 << 40, Rate: 200_000}}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Duration(3+n%7)*time.Millisecond, func() { cancel(why) })
		var calls atomic.Int64
		_, rec, res, err := run(t, ctx, spec, step, func(context.Context, []byte, []byte) error { calls.Add(1); return nil })
		if err == nil || err.Error() != why.Error() {
			t.Errorf("error %v, want only %v", err, why)
		}
		offered, _ := newSchedule(spec, step).Due(int64(res.IssueEnd.Sub(res.Start)))
		if got := rec.Totals(); got.Offered != offered || got.Sent != calls.Load() {
			t.Errorf("counts %+v, want %d offered and %d sent", got, offered, calls.Load())
		}
	}
}

// TestUnsentOfPoisson: the drain ends on time although no client took the last
// request by then.
func TestUnsentOfPoisson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Arrival = workload.ArrivalPoisson
		_, rec, res, err := run(t, t.Context(), spec, Step{Step: workload.Step{Clients: 1, Requests: 1000, Rate: 100}},
			func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil })
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		sends := int64((res.IssueEnd.Sub(res.Start) + spec.Drain) / (100 * time.Millisecond))
		if got := rec.Totals(); got.Offered != 1000 || got.OK < sends-1 || got.OK > sends+1 || got.Unsent != 1000-got.OK {
			t.Errorf("counts %+v, want 1000 offered and %d sent in %v and the drain", got, sends, res.IssueEnd.Sub(res.Start))
		}
	})
}

// busy is a sink that calls a function before it keeps a second.
type busy struct {
	*memory
	write func()
}

func (b busy) Second(s Second) error {
	b.write()
	return b.memory.Second(s)
}

// TestSlowSinkBlocksNoReader: while records are written, the scheduling lag is
// sampled and counts can be read.
func TestSlowSinkBlocksNoReader(t *testing.T) {
	var rec *Recorder
	var once sync.Once
	sampled := func() {
		before := rec.SchedulingLag().N
		rec.Totals()
		for rec.SchedulingLag().N < before+5 {
			time.Sleep(time.Millisecond)
		}
	}
	sink := busy{newMemory(), func() {
		once.Do(func() {
			done := make(chan struct{})
			go func() { defer close(done); sampled() }()
			select {
			case <-done:
			case <-time.After(2 * time.Minute):
				t.Error("no lag was sampled while the sink wrote, want five samples")
			}
		})
	}}
	spec := writes()
	spec.Drain = time.Minute // a busy machine may be late
	rec = NewRecorder(sink, spec.Operations(), nil)
	_, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 1, Rate: 10, Duration: 1500 * time.Millisecond}},
		[]database.Client{script(func(context.Context, []byte, []byte) error { return nil })})
	if want := (results.Totals{Offered: 15, Sent: 15, OK: 15}); err != nil || rec.Totals().OK != want.OK {
		t.Errorf("counts %+v, error %v, want %d ok", rec.Totals(), err, want.OK)
	}
}
