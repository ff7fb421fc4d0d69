package load

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// stoppedLoad is the record for a load whose process was stopped.
type stoppedLoad struct {
	totals   results.Totals
	lateness results.Spread
	stops    results.Stops
	result   StepResult
}

// prompt answers after answerIn, in which the process may be stopped.
type prompt struct{ null }

func (prompt) Put(context.Context, []byte, []byte) error {
	time.Sleep(answerIn)
	return nil
}

// stalled answers as prompt does, but first it makes all its clients wait: then the process is
// stopped, and half a second later it answers.
type stalled struct {
	prompt
	clients int64
	waiting atomic.Int64
	missed  *atomic.Int64
	over    chan struct{}
}

func (s *stalled) Put(ctx context.Context, key, value []byte) error {
	if s.waiting.Add(1) == s.clients {
		s.missed.Add(int64(stopFor))
		time.Sleep(500 * time.Millisecond)
		close(s.over)
	}
	<-s.over
	return s.prompt.Put(ctx, key, value)
}

// gapSink adds up gaps over all seconds.
type gapSink struct {
	discard
	ns int64
}

func (g *gapSink) Second(s Second) error {
	for _, row := range s.Intervals {
		g.ns += row.GapNS
	}
	return nil
}

const (
	// stopFor is the time for which processes are stopped.
	stopFor = 1500 * time.Millisecond
	// stoppedRate is the rate, in requests per second, for loads with one.
	stoppedRate = 400
	// answerIn is the time that a prompt database takes to answer.
	answerIn = 3 * time.Millisecond
)

// runStopped runs a 4 s load whose process is stopped for stopFor, by fake time: the clock has
// advanced when the next goroutine runs. The stop begins after half a second, or in a stall.
func runStopped(t *testing.T, step workload.Step, stall bool, check func(t *testing.T, out stoppedLoad)) {
	t.Helper()
	step.Duration = 4 * time.Second
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16}, Limits: workload.Limits{Timeout: 5 * time.Minute, Drain: 5 * time.Minute}}}
		sink, missed := &gapSink{}, &atomic.Int64{}
		rec := newRecorder(clock.Missing(missed), sink, spec.Operations(), nil)
		var client database.Client = prompt{}
		if stall {
			client = &stalled{clients: int64(step.Clients), missed: missed, over: make(chan struct{})}
		} else {
			// Not at a moment at which answers arrive: a client that has read an answer, and not
			// yet when it sends next, waits for nothing.
			time.AfterFunc(500*time.Millisecond+answerIn/2, func() { missed.Add(int64(stopFor)) })
		}
		res, err := NewEngine(spec, rec).Step(t.Context(), Step{Step: step}, []database.Client{client})
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		out := stoppedLoad{totals: rec.Totals(), lateness: rec.Lateness(), stops: rec.Stops(), result: res}
		// The watchdog was due within its period after the stop began, and noticed the stop within
		// another one.
		if out.stops.N != 1 || (out.stops.Longest.Length-stopFor).Abs() > stops.Every {
			t.Fatalf("want a stop of %v, give or take %v, got %+v", stopFor, stops.Every, out.stops)
		}
		if sink.ns != out.stops.TotalNS {
			t.Errorf("want gaps of the seconds of %v, as in the totals, got %v", time.Duration(out.stops.TotalNS), time.Duration(sink.ns))
		}
		check(t, out)
	})
}

// dueInStop returns the number of requests that became due while a load with a rate was stopped,
// less one that may be on the edge.
func (l *stoppedLoad) dueInStop() int64 {
	return int64(stoppedRate*l.stops.Longest.Length.Seconds()) - 1
}

// TestStoppedRate: requests that became due while the process was stopped are late by the client's
// fault, and the database was always fast enough.
func TestStoppedRate(t *testing.T) {
	runStopped(t, workload.Step{Clients: 8, Rate: stoppedRate}, false, func(t *testing.T, out stoppedLoad) {
		if out.lateness.N != out.totals.Sent || out.totals.Sent != 4*stoppedRate {
			t.Errorf("lateness: want it of all %d requests, got n %d of %d", 4*stoppedRate, out.lateness.N, out.totals.Sent)
		}
		due := out.dueInStop()
		if p99 := time.Duration(out.lateness.P99); p99 < stopFor*9/10 {
			t.Errorf("lateness p99: want at least %v, because %d requests fell due in a stop of %v, got %v", stopFor*9/10, due, stopFor, p99)
		}
		if out.totals.Late < due-8 { // a client free when a request is due is not late
			t.Errorf("want at least the %d requests late that fell due in the stop, because only the client was slow, got %d late and %d queued", due, out.totals.Late, out.totals.Queued)
		}
		// They waited for half the stop on average, and then for one another.
		if least := time.Duration(due) * stopFor * 9 / 20; out.result.ClientDelay < least {
			t.Errorf("client delay: want at least %v, got %v", least, out.result.ClientDelay)
		}
	})
}

// TestStoppedLoop: time by which a stop delayed answers is not inside calls.
func TestStoppedLoop(t *testing.T) {
	const clients = 4
	runStopped(t, workload.Step{Clients: clients}, false, func(t *testing.T, out stoppedLoad) {
		window := out.result.IssueEnd.Sub(out.result.Start)
		stopped := clients * out.stops.Longest.Length
		if most := clients*window - stopped + clients*answerIn; out.result.Inside > most {
			t.Errorf("want the clients inside calls for at most %v of %d times %v, of which the process was stopped for %v, got %v", most, clients, window, out.stops.Longest.Length, out.result.Inside)
		}
		if d := out.result.ClientDelay; d < stopped-clients*answerIn || d > stopped {
			t.Errorf("client delay: want nearly %v, of %d clients for %v of stops, got %v", stopped, clients, out.stops.Longest.Length, d)
		}
	})
}

// TestStoppedInAStall: the process is stopped while every client waits for a database
// that stalls for longer. That delays nothing.
func TestStoppedInAStall(t *testing.T) {
	t.Run("rate", func(t *testing.T) {
		runStopped(t, workload.Step{Clients: 8, Rate: stoppedRate}, true, func(t *testing.T, out stoppedLoad) {
			if out.result.ClientDelay != 0 {
				t.Errorf("client delay: want none, because requests queued for the database in a stop of %v, got %v", stopFor, out.result.ClientDelay)
			}
			if due := out.dueInStop(); out.totals.Queued < due {
				t.Errorf("want %d requests queued, got %d queued and %d late", due, out.totals.Queued, out.totals.Late)
			}
		})
	})
	t.Run("closed", func(t *testing.T) {
		const clients = 4
		runStopped(t, workload.Step{Clients: clients}, true, func(t *testing.T, out stoppedLoad) {
			if out.result.ClientDelay != 0 {
				t.Errorf("client delay: want none of %d clients, because the database stood still, got %v", clients, out.result.ClientDelay)
			}
			if least := clients * stopFor; out.result.Inside < least {
				t.Errorf("want at least %v inside calls, because the clients waited for the database, got %v", least, out.result.Inside)
			}
		})
	})
}
