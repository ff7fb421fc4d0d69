package load

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// TestWorkersThatMiscount: workers that send a request twice, or take one and do
// not send it, are found out, in an open and in a closed loop. They are played by
// a client that does what such workers would have done.
func TestWorkersThatMiscount(t *testing.T) {
	twice := func(r *Recorder, op int) {
		now, f := r.now(), &flight{}
		f.word.Store(packFlight(now, measure, op, 0))
		r.shardOf(0).record(r, f, &done{due: now, sent: now, end: now, phase: measure, op: op})
	}
	never := func(r *Recorder) (op int) {
		i, _, _ := r.schedule.next()
		op, _ = r.work.op(i)
		return op
	}
	for _, c := range []struct {
		name string
		do   func(*Recorder)
		sums bool // the totals hide it
	}{
		{"twice", func(r *Recorder) { twice(r, 0) }, false},
		{"never", func(r *Recorder) { never(r) }, false},
		{"one never and another twice", func(r *Recorder) { twice(r, 1-never(r)) }, true},
	} {
		for _, rate := range []float64{0, 1000} {
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Mix = []Share{{database.OpWrite, 1}, {database.OpUpdate, 1}}
				spec.Keys = 10
				sink := newMemory()
				rec := NewRecorder(sink, spec.Operations(), nil)
				var calls atomic.Int64
				_, err := NewEngine(spec, rec).Step(t.Context(), Step{Clients: 3, Requests: 2000, Rate: rate}, []database.Client{
					script(func(context.Context, []byte, []byte) error {
						if calls.Add(1) == 50 {
							c.do(rec)
						}
						return nil
					}),
				})
				got := rec.Totals()
				if got.Offered != 2000 || got.Reconcile() != c.sums || err == nil || !strings.Contains(err.Error(), "account for step 0") {
					t.Errorf("%s at a rate of %v: %+v, error %v", c.name, rate, got, err)
				}
				if diff := cmp.Diff(got, sink.sums()); diff != "" {
					t.Errorf("%s at a rate of %v: rows do not sum to the totals: %s", c.name, rate, diff)
				}
			})
		}
	}
}

// TestInterruptIsExact interrupts loads at a rate that clients hardly keep, in
// real time: what was due before the interrupt was offered, whoever was about to
// send what then.
func TestInterruptIsExact(t *testing.T) {
	why := errors.New("interrupted")
	for n := range 40 {
		spec := writes()
		spec.Poisson, spec.Drain = n%2 == 0, time.Duration(n%3)*time.Millisecond
		step := Step{Clients: 1 + n*5, Requests: 1 << 40, Rate: 200_000}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Duration(3+n%7)*time.Millisecond, func() { cancel(why) })
		var calls atomic.Int64
		_, rec, res, err := run(t, ctx, spec, step, func(context.Context, []byte, []byte) error { calls.Add(1); return nil })
		if err == nil || err.Error() != why.Error() {
			t.Errorf("error %v, want %v alone", err, why)
		}
		offered := newSchedule(spec, step).dueBefore(int64(res.IssueEnd.Sub(res.Start)))
		if got := rec.Totals(); got.Offered != offered || got.Sent != calls.Load() {
			t.Errorf("%+v, but %d were due and %d were called", got, offered, calls.Load())
		}
	}
}

// TestCountIsTheSumOfItsRequests compares whole blocks with their requests.
func TestCountIsTheSumOfItsRequests(t *testing.T) {
	w := mustWorkload(t, Spec{Seed: 3, Keys: 100, Mix: []Share{
		{database.OpRead, 0.8}, {database.OpUpdate, 0.15}, {database.OpWrite, 0.05},
	}}, 10)
	for _, c := range [][2]int64{{0, 0}, {0, 1}, {0, 1000}, {999, 1001}, {1, 999}, {500, 500}, {1000, 3000}, {123, 4567}} {
		got, want := make([]int64, 3), make([]int64, 3)
		w.count(c[0], c[1], got)
		for i := c[0]; i < c[1]; i++ {
			o, _ := w.op(i)
			want[o]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests %d to %d: %s", c[0], c[1], diff)
		}
	}
}

// TestPoissonLooksNoFurtherThanItMust: a schedule of many requests begins at once,
// and still knows its end before it comes.
func TestPoissonLooksNoFurtherThanItMust(t *testing.T) {
	const rate, seconds = 1000, 20
	s := newSchedule(Spec{Seed: 4, Poisson: true}, Step{Requests: rate * seconds, Rate: rate})
	known := math.MaxInt
	for sec := range seconds + 3 {
		s.dueBefore(int64(sec) * 1e9)
		if s.last() < math.MaxInt64 {
			known = min(known, sec)
		}
	}
	var last int64
	for {
		_, due, ok := s.next()
		if !ok {
			break
		}
		last = due
	}
	if s.last() != last {
		t.Errorf("the last request is due at %d, was said to be at %d", last, s.last())
	}
	if late := int64(known)*1e9 - (last - foresight); late < 0 || late > 1e9 {
		t.Errorf("the end at %v was known in second %d", time.Duration(last), known)
	}
	begun := newSchedule(Spec{Poisson: true}, Step{Requests: 1 << 60, Rate: 100}).(*poisson)
	if begun.ahead.i > 2*100*foresight/1e9 || begun.last() != math.MaxInt64 {
		t.Errorf("a schedule began by looking at %d requests", begun.ahead.i)
	}
	both := newSchedule(Spec{Poisson: true}, Step{Requests: 1 << 60, Rate: 100, Duration: time.Minute})
	if both.last() != int64(time.Minute) {
		t.Errorf("a schedule with a duration ends at %d", both.last())
	}
}

// TestUnsentOfPoisson ends the drain when it is over, although nobody took the
// last request by then.
func TestUnsentOfPoisson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Poisson = true
		_, rec, res, err := run(t, t.Context(), spec, Step{Clients: 1, Requests: 1000, Rate: 100},
			func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		sends := int64((res.IssueEnd.Sub(res.Start) + spec.Drain) / (100 * time.Millisecond))
		if got := rec.Totals(); got.Offered != 1000 || got.OK < sends-1 || got.OK > sends+1 || got.Unsent != 1000-got.OK {
			t.Errorf("%+v, want %d sent in %v and the drain", got, sends, res.IssueEnd.Sub(res.Start))
		}
	})
}

// busy is a sink that writes for as long as a function takes.
type busy struct {
	*memory
	write func()
}

func (b busy) Second(s Second) error {
	b.write()
	return b.memory.Second(s)
}

// TestLagGoesOnWhileRecordsAreWritten: a disk that takes its time is no lag of the
// scheduler, and holds nobody up who asks for the counts.
func TestLagGoesOnWhileRecordsAreWritten(t *testing.T) {
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
			case <-time.After(20 * time.Second):
				t.Error("no lag was sampled while the sink wrote")
			}
		})
	}}
	spec := writes()
	rec = NewRecorder(sink, spec.Operations(), nil)
	_, err := NewEngine(spec, rec).Step(t.Context(), Step{Clients: 1, Rate: 10, Duration: 1500 * time.Millisecond},
		[]database.Client{script(func(context.Context, []byte, []byte) error { return nil })})
	if want := (results.Totals{Offered: 15, Sent: 15, OK: 15}); err != nil || rec.Totals().OK != want.OK {
		t.Errorf("%+v, error %v", rec.Totals(), err)
	}
}
