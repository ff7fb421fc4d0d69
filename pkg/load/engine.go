package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/load/pool"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/load/versions"
	"github.com/coreos/dbtester/pkg/load/wakeup"
	"github.com/coreos/dbtester/pkg/process/garbage"
	"github.com/coreos/dbtester/pkg/wire/poller"
	"github.com/coreos/dbtester/pkg/workload"
)

// Engine runs load steps, one after the other.
type Engine struct {
	spec Spec
	rec  *Recorder
	next int64 // the next step's first request number
	used int64 // numbers that the last step used up, as far as this part knows
	open bool  // other parts may have used up more
	last *requests.Sequence
	// versions holds the versions of the keys written by transactions; nil in a load without
	// transactions, and before the first step.
	versions *versions.Table
	sessions *pool.Pool // that operations take
	// contenders take locks for operations; nil in a load without locks.
	contenders *contenders.Pool
}

// NewEngine returns an engine that records into rec.
func NewEngine(spec Spec, rec *Recorder) *Engine {
	return &Engine{spec: spec, rec: rec, sessions: pool.New(spec.SessionTTL)}
}

// TakeSessions gives the engine the sessions for operations to take.
func (e *Engine) TakeSessions(from *pool.Pool) { e.sessions = from }

// TakeContenders gives the engine the contenders that take locks for operations.
func (e *Engine) TakeContenders(from *contenders.Pool) { e.contenders = from }

// Continue notes the count of numbers that the last step used up over all parts: the greatest
// [StepResult.Requests] among the parts. A load in parts calls it between two steps, so that the
// next step begins at the same number in each part.
func (e *Engine) Continue(requests int64) error {
	if requests < e.used {
		return fmt.Errorf("a step's requests over all parts must be at least the %d that this part counted, got %d", e.used, requests)
	}
	e.next += requests - e.used
	e.used, e.open = requests, false
	return nil
}

// Step runs one step on connections and returns when its last request ended. Each connection serves
// Clients / len(conns) clients in this part, and can apply all operations in the load: see
// [database.OperationsOf]. A lost connection is closed and replaced in conns, by nil if no other
// was open in its place at the end. When ctx ends, no new request is issued, requests in flight end
// by themselves or by their deadline, and the result is complete. The error is then ctx's cause.
func (e *Engine) Step(ctx context.Context, s Step, conns []database.Client) (StepResult, error) {
	if err := e.check(s, conns); err != nil {
		return StepResult{}, err
	}
	work, err := e.spec.sequence(s.Clients)
	if err != nil {
		return StepResult{}, err
	}
	work.Carry(e.last)
	e.last = work
	spec, clients := e.spec, e.spec.clients(s)
	spec.Part = spec.Part.From(e.next)
	wake, err := wakeup.New(e.rec.clock.Now, clients)
	if err != nil {
		return StepResult{}, fmt.Errorf("set up wake-ups: %w", err)
	}
	st := &step{
		plan: plan{Step: s, spec: e.spec, schedule: newSchedule(spec, s), work: work},
		rec:  e.rec, sessions: e.sessions, contenders: e.contenders, stop: newStopTime(), wakeup: wake,
	}
	st.first, st.others = e.next+spec.Part.Number(0), spec.Part.Number(1)-spec.Part.Number(0)-1
	st.deletes = slices.Contains(e.rec.accounts.ops, workload.OpDelete)
	if st.versions, err = e.readVersions(ctx, st, conns); err != nil {
		return StepResult{}, errors.Join(err, wake.Close())
	}
	if spec.Bind == workload.BindClient && st.rated() {
		// The parts divide the clients, so that request i in part p belongs to client p.Number(i
		// mod clients) in the whole. A step that does not begin with part 0 shifts them.
		st.dealer = schedule.NewDealer(st.schedule, clients)
	}
	st.connect(conns)
	if st.alarms, err = poller.NewAlarms(e.rec.clock.Instant(0), st.rated() && st.continues()); err != nil {
		return StepResult{}, errors.Join(fmt.Errorf("set up waits: %w", err), wake.Close())
	}
	defer st.alarms.Close()
	st.phases()
	e.rec.allocate(&st.plan)
	all := make([]*client, clients)
	flights := make([]*flight, clients)
	for n := range all {
		all[n] = newRequestLoop(st, n, n%len(conns))
		flights[n] = &all[n].flight
	}
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	st.abandon = abandon
	// A client library that makes much garbage costs as much here as in an application.
	defer garbage.CollectAsUsual()()
	// Garbage from before the load becomes room for the little that the load leaves.
	runtime.GC()
	if err := st.begin(flights); err != nil {
		return StepResult{}, errors.Join(err, wake.Close())
	}
	st.run(ctx, abandon, all)
	for n, c := range st.conns {
		conns[n] = c.end()
	}
	res, err := st.finish(ctx)
	if first := firstSent(all); first > 0 {
		res.FirstSent = st.rec.clock.Time(first)
	}
	if res.Requests > 0 { // numbers in this part up to the last one used
		res.Requests = st.number(res.Requests-1) + 1 - e.next
	}
	e.next += res.Requests
	e.used, e.open = res.Requests, !spec.Part.Whole()
	return res, errors.Join(err, wake.Close())
}

// firstSent returns when the first request was sent by any client; 0 if no request was.
func firstSent(clients []*client) (first int64) {
	for _, c := range clients {
		if first == 0 || c.first > 0 && c.first < first {
			first = c.first
		}
	}
	return first
}

// readVersions returns the versions of all keys, read by the first step. A load without
// transactions does not need them.
func (e *Engine) readVersions(ctx context.Context, st *step, conns []database.Client) (*versions.Table, error) {
	if e.versions != nil || !slices.ContainsFunc(e.rec.accounts.ops, workload.Op.Guarded) {
		return e.versions, nil
	}
	table, err := readVersions(ctx, st, conns)
	if err != nil {
		return nil, fmt.Errorf("read the versions of %d keys before the load: %w", table.Keys(), err)
	}
	e.versions = table
	return table, nil
}

// connect makes the connections from open clients.
func (s *step) connect(conns []database.Client) {
	s.exhausted.done = make(chan struct{})
	for n, client := range conns {
		s.conns = append(s.conns, newConnection(int(s.spec.Part.Number(int64(n))), client, s.Reconnect, s.spec.Failover))
	}
}

// newSchedule returns the schedule of a step. Each step has its own arrivals. The part counts
// numbers from where the step begins.
func newSchedule(spec Spec, s Step) schedule.Schedule {
	return schedule.New(schedule.Options{
		Requests: s.Requests, Duration: s.Duration, Rate: s.Rate, RateEnd: s.RateEnd,
		Poisson: spec.Arrival == workload.ArrivalPoisson, Seed: requests.Mix64(spec.Seed + uint64(s.Index)),
		Wave: schedule.Wave{Period: spec.Period, Peak: spec.Peak, Burst: spec.Burst}, Part: spec.Part,
	})
}

func (e *Engine) check(s Step, conns []database.Client) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("step %d: %w", s.Index, err)
	}
	spec := e.spec
	spec.Steps = []workload.Step{s.Step}
	if err := spec.CheckPart(); err != nil {
		return fmt.Errorf("step %d: %w", s.Index, err)
	}
	clients := e.spec.clients(s)
	switch {
	case clients < 1:
		return fmt.Errorf("step %d: each of %d parts must have a client, got %d clients", s.Index, e.spec.Part.Of, s.Clients)
	case len(conns) < 1 || len(conns) > clients:
		return fmt.Errorf("step %d: connections must be between 1 and the number of clients, got %d for %d clients", s.Index, len(conns), clients)
	case e.spec.Any(workload.Op.Locks) && e.contenders == nil:
		return fmt.Errorf("step %d: operations that take locks need contenders, got none", s.Index)
	case e.open:
		return fmt.Errorf("step %d: it must be known how many requests the step before had in all parts", s.Index)
	}
	if err := e.spec.checkClients(s, conns); err != nil {
		return fmt.Errorf("step %d: %w", s.Index, err)
	}
	return nil
}

// startIn is how far ahead a step starts when its clients are made, so that clients already wait
// for the first requests.
const startIn = 2 * time.Millisecond

// begin sets the start and the planned end. It fails if the agreed start has passed.
func (s *step) begin(flights []*flight) error {
	s.start = s.rec.clock.Now() + int64(startIn)
	if !s.Start.IsZero() {
		agreed := s.rec.clock.Moment(s.Start)
		if late := time.Duration(s.start - agreed); late > 0 {
			return fmt.Errorf("step %d: it must be ready %v before its start, and was %v late", s.Index, startIn, late)
		}
		s.start = agreed
	}
	if s.Duration > 0 {
		s.stop.ns.Store(s.start + int64(s.Duration))
	}
	s.rec.begin(&s.plan, flights)
	return nil
}

// run runs the clients, the flusher and the watchers, and returns when all have
// ended.
func (s *step) run(ctx context.Context, abandon context.CancelCauseFunc, all []*client) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var helpers, clients sync.WaitGroup
	helpers.Go(func() { s.rec.flusher.run(own) })
	unwatch := s.watch(own, &helpers, all)
	helpers.Go(func() { s.watchStop(ctx, own) })
	if s.Reconnect != nil {
		// Only clients, which end before the helpers, call it.
		spawn := func(f func(context.Context)) { helpers.Go(func() { f(own) }) }
		for _, c := range s.conns {
			c.spawn = spawn
		}
		helpers.Go(func() { s.watchServers(own, abandon) })
		helpers.Go(func() { s.watchFailBack(own) })
	}
	if s.inFibers() {
		s.startFibers(&clients, all)
	} else {
		for _, c := range all {
			clients.Go(func() { c.run(nil) })
		}
	}
	clients.Wait()
	s.awaitEnd()
	cancel()
	helpers.Wait()
	unwatch()
}

// finish ends recording the step and returns its result.
func (s *step) finish(ctx context.Context) (StepResult, error) {
	c := &s.rec.clock
	// After the last answer, which may have ended in this very nanosecond. A part without a
	// request, and an interrupted step, may be ready before the agreed start.
	end := max(c.Now()+1, s.start)
	issueEnd := max(min(s.rec.issueEnd.at(), end), s.start)
	res := StepResult{Start: c.Time(s.start), End: c.Time(end), IssueEnd: c.Time(issueEnd), Requests: s.schedule.Used()}
	err := s.rec.end(end, &res)
	res.VersionReads = s.versionReads.Load()
	for _, c := range s.conns {
		res.Lost += c.losses
		res.Reconnects += c.reopens
		res.Resent += c.resends()
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return res, err
}
