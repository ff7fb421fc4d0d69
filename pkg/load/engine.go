package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Engine runs the steps of one load, one after the other.
type Engine struct {
	spec Spec
	rec  *Recorder
	next int64 // the number of the next step's first request
	last *workload
}

// NewEngine returns an engine that records into rec.
func NewEngine(spec Spec, rec *Recorder) *Engine {
	return &Engine{spec: spec, rec: rec}
}

// Operations are the operations of a load, for its recorder.
func (s Spec) Operations() []database.Op {
	if len(s.Mix) == 0 {
		return []database.Op{s.Operation}
	}
	ops := make([]database.Op, len(s.Mix))
	for i, share := range s.Mix {
		ops[i] = share.Operation
	}
	return ops
}

// step is a step while it runs.
type step struct {
	*Engine
	Step
	schedule schedule
	work     *workload
	first    int64 // number of this step's request 0
	start    int64
	phaseEnd [numPhases]int64 // after start
	// stopAt is when nothing new is issued any more, or ending; stop is closed then.
	stopAt atomic.Int64
	stop   chan struct{}
	alarm  *alarm
}

// Step runs one step on connections and returns when its last request ended. Each
// connection serves Clients / len(conns) clients. When ctx ends, nothing new is
// issued, what is in flight ends by itself or by its deadline, and the result is
// as complete as that of a whole step; the error is then ctx's cause.
func (e *Engine) Step(ctx context.Context, s Step, conns []database.Client) (StepResult, error) {
	if err := e.check(s, conns); err != nil {
		return StepResult{}, err
	}
	work, err := newWorkload(e.spec, s.Clients)
	if err != nil {
		return StepResult{}, err
	}
	work.carry(e.last)
	e.last = work
	alarm, err := newAlarm(e.rec.now, s.Clients+1) // and the watcher of lag
	if err != nil {
		return StepResult{}, fmt.Errorf("set an alarm: %w", err)
	}
	st := &step{Engine: e, Step: s, schedule: newSchedule(e.spec, s), work: work, first: e.next, stop: make(chan struct{}), alarm: alarm}
	st.phases()
	e.rec.allocate(st)
	workers := make([]*worker, s.Clients)
	flights := make([]*flight, s.Clients)
	for n := range workers {
		workers[n] = newWorker(st, n, conns[n%len(conns)])
		flights[n] = &workers[n].flight
	}
	// What came before the load left garbage. Collected, it is room for the little
	// that a second of the load leaves; left alone, that came on top of it.
	runtime.GC()
	st.start = e.rec.now() + int64(startIn)
	st.stopAt.Store(math.MaxInt64)
	if s.Duration > 0 {
		st.stopAt.Store(st.start + int64(s.Duration))
	}
	e.rec.begin(st, flights)
	st.run(ctx, workers)
	res, err := st.finish(ctx)
	return res, errors.Join(err, alarm.close())
}

// startIn is how far ahead a step's start lies when its clients are made, so that
// the first requests find them waiting.
const startIn = 2 * time.Millisecond

func (e *Engine) check(s Step, conns []database.Client) error {
	switch {
	case s.Clients < 1:
		return fmt.Errorf("step %d has %d clients", s.Index, s.Clients)
	case len(conns) < 1 || len(conns) > s.Clients:
		return fmt.Errorf("step %d has %d connections for %d clients", s.Index, len(conns), s.Clients)
	case s.Requests <= 0 && s.Duration <= 0:
		return fmt.Errorf("step %d has neither requests nor a duration", s.Index)
	case s.Rate < 0 || s.RateEnd < 0:
		return fmt.Errorf("step %d has a rate of %v requests a second", s.Index, min(s.Rate, s.RateEnd))
	case s.RateEnd > 0 && (s.Duration <= 0 || s.Rate == 0):
		return fmt.Errorf("step %d has a rate that changes and needs a first rate and a duration", s.Index)
	case s.Ramp > 0 && s.Rate > 0:
		return fmt.Errorf("step %d has a rate: a ramp of clients has no effect on it", s.Index)
	}
	return nil
}

// phases sets where the warm-up and the measured phase end.
func (s *step) phases() {
	s.phaseEnd = [numPhases]int64{int64(s.spec.WarmUp), math.MaxInt64, math.MaxInt64}
	if s.Duration > 0 && s.spec.CoolDown > 0 {
		s.phaseEnd[measure] = int64(s.Duration - s.spec.CoolDown)
	}
}

// phase is the phase of a request due at a time after the step's start.
func (s *step) phase(due int64) int {
	switch {
	case due < s.phaseEnd[warmUp]:
		return warmUp
	case due < s.phaseEnd[measure]:
		return measure
	default:
		return coolDown
	}
}

// has tells whether requests may belong to a phase.
func (s *step) has(phase int) bool {
	begins := int64(0)
	if phase > 0 {
		begins = s.phaseEnd[phase-1]
	}
	return begins < s.phaseEnd[phase] && begins < math.MaxInt64
}

// run runs the workers, the recorder's flushes, the deadline watcher and the
// watcher of ctx, and returns when all have ended.
func (s *step) run(ctx context.Context, workers []*worker) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var helpers, clients sync.WaitGroup
	helpers.Go(func() { s.rec.run(own) })
	helpers.Go(func() { s.rec.watchLag(own, s.alarm) })
	helpers.Go(func() { s.watchDeadlines(own, workers) })
	helpers.Go(func() { s.watchStop(ctx, own) })
	for _, w := range workers {
		clients.Go(w.run)
	}
	clients.Wait()
	cancel()
	helpers.Wait()
}

// watchStop ends issuing when ctx ends or the step's duration is over.
func (s *step) watchStop(ctx, own context.Context) {
	defer close(s.stop)
	var over <-chan time.Time
	if s.Duration > 0 {
		t := time.NewTimer(time.Duration(s.stopAt.Load() - s.rec.now()))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		s.interrupt()
	case <-over:
		s.rec.endIssuing(s.stopAt.Load())
	case <-own.Done():
	}
}

// ending is in place of a step's end that is being set.
const ending = -1

// interrupt ends issuing now. What was due before now was offered and what is due
// later was not, so no client may send in between: those that come to it wait until
// now is known, and it is known after the last one has passed. No flush counts
// what is due in between either.
func (s *step) interrupt() {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	planned := s.stopAt.Swap(ending)
	at := min(planned, s.rec.now()+1)
	s.stopAt.Store(at)
	s.rec.endIssuing(at)
}

// stopsAt is when nothing new is issued any more.
func (s *step) stopsAt() int64 {
	at := s.stopAt.Load()
	if at == ending {
		<-s.stop
		at = s.stopAt.Load()
	}
	return at
}

func (s *step) finish(ctx context.Context) (StepResult, error) {
	r := s.rec
	end := r.now()
	issueEnd := min(r.issueEnd.Load(), end)
	res := StepResult{Start: r.time(s.start), End: r.time(end), IssueEnd: r.time(issueEnd), Requests: s.schedule.used()}
	s.next += res.Requests
	inside, err := r.end(results.Step{
		Index: s.Index, Clients: s.Clients, Requests: s.Requests, Rate: s.Rate, Start: res.Start, End: res.End,
	})
	res.Inside = inside
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return res, err
}
