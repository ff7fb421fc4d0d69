package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

func answering(n int) []database.Client {
	conns := make([]database.Client, n)
	for i := range conns {
		conns[i] = newFiberClient(func(int64) (error, bool) { return nil, false })
	}
	return conns
}

// Clients with a rate are also fibers: each request is sent once and counted, whichever client
// takes it and however requests arrive.
func TestFibersOfARate(t *testing.T) {
	for name, change := range map[string]func(*Spec, *Step){
		"constant": func(*Spec, *Step) {},
		"poisson":  func(s *Spec, _ *Step) { s.Arrival = workload.ArrivalPoisson },
		"bound":    func(s *Spec, _ *Step) { s.Bind = workload.BindClient },
		"growing":  func(_ *Spec, s *Step) { s.RateEnd, s.Duration = 2*s.Rate, 200*time.Millisecond },
		"behind":   func(_ *Spec, s *Step) { s.Rate = 1e9 },
	} {
		t.Run(name, func(t *testing.T) {
			spec, s := patient(writes()), Step{Step: workload.Step{Clients: 50, Requests: 2000, Rate: 20_000}}
			change(&spec, &s)
			_, rec := runFibers(t, spec, s, answering(4))
			want := results.Totals{Offered: 2000, Sent: 2000, OK: 2000, BytesWritten: 2000 * 48}
			if got := rec.Totals(); got.OK+got.Unsent != 2000 || got.Unsent == 0 && (got.OK != want.OK || got.BytesWritten != want.BytesWritten) {
				t.Errorf("totals are %+v, want %+v", got, want)
			}
		})
	}
}

// With a rate, no request is sent before it is due, and a client's wait is not part of its request.
func TestFibersOfARateWait(t *testing.T) {
	sink := newMemory()
	spec := patient(writes())
	rec := NewRecorder(sink, spec.Operations(), nil)
	conns := answering(2)
	res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: workload.Step{Clients: 5, Requests: 21, Rate: 100}}, conns)
	if err != nil {
		t.Fatal(err)
	}
	if took := res.End.Sub(res.Start); took < 200*time.Millisecond {
		t.Errorf("21 requests at 100/s took %v, want at least 200ms", took)
	}
	if late := rec.Lateness(); late.N != 21 {
		t.Errorf("%d requests have a lateness, want 21", late.N)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// An interrupt ends waiting fibers at once.
func TestFibersOfARateInterrupted(t *testing.T) {
	spec := writes()
	rec := NewRecorder(newMemory(), spec.Operations(), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	first := make(chan struct{})
	c := newFiberClient(func(n int64) (error, bool) {
		if n == 1 {
			close(first)
		}
		return nil, false
	})
	go func() { <-first; cancel(why) }()
	_, err := NewEngine(spec, rec).Step(ctx, Step{Step: workload.Step{Clients: 50, Rate: 1, Duration: time.Hour}}, []database.Client{c})
	if !errors.Is(err, why) {
		t.Errorf("the step ended with %v, want %v", err, why)
	}
	if got := rec.Totals(); got.OK != got.Offered || got.OK == 0 {
		t.Errorf("totals are %+v, want those that were due and no others", got)
	}
	_ = c.Close()
}

// With a rate, requests without an answer end by their deadline, and their clients continue.
func TestFibersOfARateTimeOut(t *testing.T) {
	spec := writes()
	spec.Timeout = 20 * time.Millisecond
	c := newFiberClient(func(n int64) (error, bool) { return nil, n%50 == 0 })
	_, rec := runFibers(t, spec, Step{Step: workload.Step{Clients: 10, Requests: 1000, Rate: 5000}}, []database.Client{c})
	if got := rec.Totals(); got.Unknown < got.Sent/60 || got.Unknown == 0 || got.OK+got.Unknown+got.Unsent != 1000 {
		t.Errorf("totals are %+v, want 1,000 of which every 50th is unknown", got)
	}
}
