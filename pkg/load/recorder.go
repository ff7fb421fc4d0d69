package load

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Recorder counts the requests and passes them to a Sink, one second after the other. Its memory
// depends on the client and processor counts, not on the request count.
//
// It consists of parts that guard themselves. Clients record into the shards, and errors into the
// failures. Once a second the flusher merges both, compares them with the offered requests, adds
// them to the accounts, and writes.
type Recorder struct {
	clock    clock.Clock
	issueEnd *issueEnd
	shards   *shards
	fails    *failures
	offered  *offered
	accounts *accounts
	flusher  *flusher
	history  *history // nil without an observer
	lag      *schedulingLag
	stops    *stops.Stops
}

// NewRecorder returns a recorder for loads with some operations. A sink that is an [Observer]
// sees every request. Progress is called once a second and may be nil.
func NewRecorder(sink Sink, ops []workload.Op, progress func(Progress)) *Recorder {
	return newRecorder(clock.New(), sink, ops, progress)
}

// Clock returns the record clock.
func (r *Recorder) Clock() *clock.Clock { return &r.clock }

// LongStops returns the stops that [Recorder.Stops] lists one by one, also one ending now: since
// is when the calling goroutine last ran. It is too slow to be called with every request.
func (r *Recorder) LongStops(since int64) stops.List {
	r.stops.Seen(since, r.clock.Now())
	return r.stops.Long()
}

// NewRecorderAt returns a recorder like [NewRecorder], for records in the clock of another machine,
// which now shows the given time. [Step.Start] is in that clock too.
func NewRecorderAt(now time.Time, sink Sink, ops []workload.Op, progress func(Progress)) *Recorder {
	return newRecorder(clock.At(now), sink, ops, progress)
}

func newRecorder(c clock.Clock, sink Sink, ops []workload.Op, progress func(Progress)) *Recorder {
	ops = slices.Clone(ops)
	size := numPhases * len(ops)
	r := &Recorder{clock: c, issueEnd: &issueEnd{}}
	r.shards = newShards(r.clock, r.issueEnd, size)
	r.history = newHistory(r.clock, sink, r.shards)
	r.fails = &failures{open: openSeconds{clock: r.clock}, ops: ops}
	r.offered = &offered{clock: r.clock, shards: r.shards, end: r.issueEnd, counts: make([]int64, size)}
	r.accounts = newAccounts(ops)
	r.stops = stops.New(r.clock)
	r.flusher = &flusher{
		clock: r.clock, shards: r.shards, fails: r.fails, offered: r.offered, accounts: r.accounts,
		meter: NewMeter(ops, progress), sink: sink, history: r.history,
		stops: r.stops, merged: make(slot, size), records: records{ops: ops, totals: make([]latencies, size)}, ticks: tickRows{ops: ops},
	}
	r.lag = &schedulingLag{stops: r.stops}
	return r
}

// Forget restarts [Recorder.SchedulingLag], [Recorder.Lateness] and [Recorder.Stops] with
// the next step. It is called between two steps. Totals and Created continue.
func (r *Recorder) Forget() {
	r.lag.forget()
	r.shards.forget()
	r.stops.Forget()
}

// Totals returns the counts for all ended steps.
func (r *Recorder) Totals() results.Totals {
	counts, _, _ := r.accounts.totals()
	return counts
}

// Created bounds the number of keys that ended steps created: surely counts acknowledged keys,
// perhaps the further keys from unknown writes.
func (r *Recorder) Created() (surely, perhaps int64) {
	_, surely, perhaps = r.accounts.totals()
	return surely, perhaps
}

// SchedulingLag returns timer lateness in this process, over all steps since [Recorder.Forget].
func (r *Recorder) SchedulingLag() results.Spread { return r.lag.spread() }

// Lateness returns the time from when requests were due until they were sent, as far as the client
// itself caused it, over all sent requests in all steps with a rate since [Recorder.Forget].
func (r *Recorder) Lateness() results.Spread { return r.shards.lateness() }

// Stops returns the stretches in which this process did not run during the steps since
// [Recorder.Forget].
func (r *Recorder) Stops() results.Stops { return r.stops.All() }

// allocate makes all histograms that a step without failures needs. So they neither take
// time during the load nor make memory depend on its length.
func (r *Recorder) allocate(p *plan) {
	ops := len(r.accounts.ops)
	for phase := range phases {
		if !p.has(phase) {
			continue
		}
		from, to := phase*ops, (phase+1)*ops
		r.shards.allocate(from, to, p.rated())
		r.flusher.merged.allocate(from, to, p.rated())
		for n := from; n < to; n++ {
			r.flusher.records.totals[n].allocate(p.rated())
		}
	}
	r.lag.allocate()
}

// begin prepares for a step. Flights belong to its clients.
func (r *Recorder) begin(p *plan, flights []*flight) {
	flushed := r.clock.Second(p.start) - 1
	g := p.grid(r.issueEnd)
	r.offered.begin(p, g)
	r.accounts.begin()
	r.flusher.begin(p, flushed, g)
	r.shards.begin(flushed, p, g, flights)
	r.history.begin(len(flights))
	r.fails.begin(flushed, p.rated())
}

// endIssue ends issuing at the time that a function returns, which must be later than its clock
// reading. No request is recorded meanwhile. So each request recorded before has ended before that
// time, and requests that end at or after it find the window closed: no request is counted on the
// wrong side of a window's end.
func (r *Recorder) endIssue(at func() int64) { r.offered.stop(at) }

// end flushes the last seconds in a step that ended at the given moment, writes its totals, and
// sets what the recorder knows about res. The error comes from the sink, or reports that requests
// were lost or counted twice.
func (r *Recorder) end(end int64, res *StepResult) (err error) {
	res.LargestGap, err = r.flusher.end(end, res.Start, res.End)
	res.Inside, res.Waiting, res.ClientDelay = r.shards.end()
	res.ObserverWaits = r.history.takeWaits()
	return err
}
