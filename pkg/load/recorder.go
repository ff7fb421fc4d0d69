package load

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Sink takes the records of a load: one second after the other, and the totals of
// each step at its end. Its methods are called by one goroutine at a time.
type Sink interface {
	// Second takes what happened in one second. The histograms are the recorder's:
	// they are valid during the call.
	Second(Second) error
	// Total takes the whole of one step, phase, clock and outcome. The histogram is
	// valid during the call.
	Total(Total) error
}

// Second is what one second of one step recorded.
type Second struct {
	Start     time.Time
	Intervals []results.Interval
	Errors    []results.ErrorCount
	// Latencies are the ok requests, one for each phase and clock.
	Latencies []Latency
}

// Latency is a histogram of nanoseconds and what it is of.
type Latency struct {
	Series    results.Series
	Histogram *hdrhistogram.Histogram
}

// Total is one series of a whole step.
type Total struct {
	Latency
	Start, End time.Time
}

// Recorder counts requests and gives a Sink one second after the other. Its
// memory depends on the number of clients and of processors, not of requests.
// Requests are recorded from any number of goroutines; the rest is called by the
// engine that owns it.
type Recorder struct {
	sink     Sink
	ops      []database.Op
	creates  int // index of the operation that creates keys, or -1
	progress func(Progress)

	base     time.Time // the zero of all nanoseconds here
	baseUnix int64     // its wall clock
	rated    bool
	issueEnd atomic.Int64

	shards []*shard
	fails  failures

	// flushing orders flushes, the ticker's and the end of a step, and what they give
	// to the sink. It is taken before mu, which guards what follows and is never held
	// while something is written.
	flushing sync.Mutex
	mu       sync.Mutex
	step     Step
	stepFrom int64
	schedule schedule
	flushed  int64
	due      int64 // requests of this step that were due in flushed seconds
	clients  int
	phaseEnd [numPhases]int64
	spare    slot
	merged   slot
	totals   []failedLatency // of this step, as a slot
	created  int64           // keys, up to the flushed second
	perhaps  int64           // keys that may have been created
	// work says what a request does, first is the number of this step's request 0.
	work  *workload
	first int64
	// By operation: what this step sent, its gauges, and scratch.
	sent, backlog, inFlight, dueByOp []int64
	shown                            *hdrhistogram.Histogram // scratch of progressOf
	counts                           results.Totals          // of all steps, up to the flushed second
	sinkErr                          error

	// lagMu guards lag alone: a wait for a flush is no lag of the scheduler.
	lagMu sync.Mutex
	lag   summary
}

// Progress is how far a load is, once a second.
type Progress struct {
	Step    Step
	Elapsed time.Duration // of this step
	// Done are the requests of all steps that ended, whatever their outcome.
	Done int64
	// Offered and Ended are rates of the last second; Errors of all steps.
	Offered, Ended, Errors int64
	// P50 and P99 are service times of the last second, or response times with a
	// rate; 0 if nothing was ok.
	P50, P99 time.Duration
}

// NewRecorder returns a recorder for loads of some operations. Progress may be
// nil.
func NewRecorder(sink Sink, ops []database.Op, progress func(Progress)) *Recorder {
	if progress == nil {
		progress = func(Progress) {}
	}
	r := &Recorder{
		sink:     sink,
		ops:      slices.Clone(ops),
		creates:  slices.Index(ops, database.OpWrite),
		progress: progress,
		base:     time.Now(),
		shards:   make([]*shard, min(2*runtime.GOMAXPROCS(0), 16)),
	}
	size := numPhases * len(ops)
	r.spare, r.merged, r.totals = make(slot, size), make(slot, size), make([]failedLatency, size)
	for _, counts := range []*[]int64{&r.sent, &r.backlog, &r.inFlight, &r.dueByOp} {
		*counts = make([]int64, len(ops))
	}
	r.shown = results.NewHistogram()
	r.baseUnix = r.base.UnixNano()
	for i := range r.shards {
		r.shards[i] = &shard{slots: [2]slot{make(slot, size), make(slot, size)}}
	}
	return r
}

// now is the recorder's clock: monotonic nanoseconds since it was made.
func (r *Recorder) now() int64 { return int64(time.Since(r.base)) }

// second is the unix second of a moment. Steps of the wall clock after the
// recorder was made do not move it.
func (r *Recorder) second(ns int64) int64 { return (r.baseUnix + ns) / 1e9 }

// unix is the moment at which a unix second starts.
func (r *Recorder) fromUnix(second int64) int64 { return second*1e9 - r.baseUnix }

// time is a moment as a wall clock time.
func (r *Recorder) time(ns int64) time.Time { return time.Unix(0, r.baseUnix+ns).UTC() }

// endIssuing sets when nothing new is issued; the earliest time wins.
func (r *Recorder) endIssuing(at int64) {
	for old := r.issueEnd.Load(); at < old; old = r.issueEnd.Load() {
		if r.issueEnd.CompareAndSwap(old, at) {
			return
		}
	}
}

// Totals are the counts of all steps that ended.
func (r *Recorder) Totals() results.Totals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Created bounds the keys that the steps that ended created: those that surely
// were, and those that may have been besides.
func (r *Recorder) Created() (surely, perhaps int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.created, r.perhaps
}

// allocate makes all histograms that a step without failures needs, so that they
// neither take time during the load nor make memory depend on its length.
func (r *Recorder) allocate(st *step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rated := st.Rate > 0
	for p := range phases {
		if !st.has(p) {
			continue
		}
		for n := p * len(r.ops); n < (p+1)*len(r.ops); n++ {
			r.spare[n].allocate(rated)
			r.merged[n].allocate(rated)
			r.totals[n][service][database.OK].allocate()
			if rated {
				r.totals[n][response][database.OK].allocate()
			}
			for _, s := range r.shards {
				s.slots[0][n].allocate(rated)
				s.slots[1][n].allocate(rated)
			}
		}
	}
	r.lagMu.Lock()
	r.lag.allocate()
	r.lagMu.Unlock()
	if rated {
		for _, s := range r.shards {
			s.late.allocate()
		}
	}
}

// begin prepares for a step. Flights are the step's clients.
func (r *Recorder) begin(st *step, flights []*flight) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.schedule, r.stepFrom, r.phaseEnd = st.Step, st.schedule, st.start, st.phaseEnd
	r.work, r.first = st.work, st.first
	r.rated = st.Rate > 0
	r.clients = len(flights)
	r.due = 0
	clear(r.sent)
	clear(r.backlog)
	clear(r.inFlight)
	r.issueEnd.Store(math.MaxInt64)
	r.foresee()
	r.flushed = r.second(st.start) - 1
	for n, s := range r.shards {
		s.mu.Lock()
		s.flushed, s.inside, s.flights = r.flushed, 0, s.flights[:0]
		for i := n; i < len(flights); i += len(r.shards) {
			s.flights = append(s.flights, flights[i])
		}
		s.mu.Unlock()
	}
	r.fails.open(r.flushed)
}

// shardOf is the shard that client n of a step records into.
func (r *Recorder) shardOf(n int) *shard { return r.shards[n%len(r.shards)] }

// foresee ends issuing after the last request of the schedule, as soon as that is
// known.
func (r *Recorder) foresee() {
	if last := r.schedule.last(); last < math.MaxInt64 {
		r.endIssuing(r.stepFrom + last + 1)
	}
}

// end flushes what is left of a step, writes its totals and returns the clients'
// time inside calls. The error is the sink's, or says that requests of this step
// were lost or counted twice.
func (r *Recorder) end(step results.Step) (time.Duration, error) {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	last := r.second(r.now())
	for r.flushed < last {
		r.flush(r.flushed+1, r.flushed+1 == last)
	}
	for _, s := range r.shards {
		s.mu.Lock()
		step.InsideNS += s.inside
		s.flights = s.flights[:0]
		s.mu.Unlock()
	}
	for n := range r.totals {
		for c := range r.totals[n] {
			for o := range r.totals[n][c] {
				r.total(step, n, c, o)
			}
		}
	}
	return time.Duration(step.InsideNS), r.sinkErr
}

// total gives the sink one series: the n-th phase and operation, timed by clock c
// and ended with outcome o.
func (r *Recorder) total(step results.Step, n, c, o int) {
	t := &r.totals[n][c][o]
	if t.latency.Count == 0 {
		return
	}
	r.keep(r.sink.Total(Total{
		Latency: Latency{Series: r.series(n, c, results.Outcomes[o]), Histogram: t.histogram},
		Start:   step.Start, End: step.End,
	}))
	r.mu.Lock()
	r.counts.Clamped += t.clamped
	r.mu.Unlock()
	t.reset()
}

// keep remembers the sink's first error: the load goes on, and is told at its
// end.
func (r *Recorder) keep(err error) {
	if err != nil && !errors.Is(r.sinkErr, err) {
		r.sinkErr = errors.Join(r.sinkErr, err)
	}
}
