package load

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// done is one request that ended. Times are nanoseconds of the recorder's clock.
type done struct {
	due, sent, end int64
	phase, op      int
	late           int64 // the part of sent - due that the client caused itself
	stopped        int64 // the part of end - sent by which stops of the client delayed the answer
	read, written  int64 // bytes of the value that was read, of keys and values that were written
	member         int   // that the request went to; -1 if not known
	outcome        workload.Outcome
	class          database.Class
	declined       bool // a failure that is an answer; see database.Declined
	err            error
	observed       []Ended // for an observer; nil without one
}

// shard records the requests of some of the clients. It has two slots, chosen by the
// parity of the second, so that one second can be flushed while the next is being
// filled.
type shard struct {
	end *issueEnd

	mu    sync.Mutex
	open  openSeconds
	rated bool
	slots [2]slot
	ticks tickRing
	// members count the same requests by member.
	members memberCounts
	// inside is the clients' time inside calls in this step, in nanoseconds.
	inside int64
	// delay is the time that the client itself added to ok requests in this step's
	// measured phase, in nanoseconds.
	delay int64
	// waited is the clients' time without a server in this step's window, in
	// nanoseconds. coolDown is when the step's cool-down begins.
	waited   int64
	window   window
	coolDown int64
	// late is the lateness of requests with a rate, in all steps since forget.
	late summary
	// flights are the requests that this shard's clients have in flight.
	flights []*flight
	pages   pages
	_       [64]byte
}

// record counts a request that ended and clears its flight. A flush that found the
// request in flight has counted it as sent; otherwise it is counted as sent now, in an
// open second even if its own second was flushed while the goroutine was
// descheduled. record returns the flight's word, which has the mark of a passed
// deadline.
func (s *shard) record(f *flight, d *done) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := f.word.Swap(0)
	if word&flightCounted == 0 {
		s.slots[s.open.of(d.sent)&1].at(d.phase, d.op).countSent(word)
		s.ticks.at(d.sent).ops[d.op].sent++
	}
	in := s.ticks.at(d.end)
	in.ops[d.op].ended[d.outcome]++
	sec := s.open.of(d.end)
	t := s.slots[sec&1].at(d.phase, d.op)
	t.ended[d.outcome]++
	t.read += d.read
	t.written += d.written
	s.members.add(sec, d, s.rated)
	if d.outcome == workload.OK {
		in.answered(d.end)
		t.latency[service].add(d.end - d.sent)
		if s.rated {
			t.latency[response].add(d.end - d.due)
		}
	}
	if s.rated {
		s.late.add(d.late)
	}
	if d.outcome == workload.OK && d.phase == measure {
		s.delay += d.late + d.stopped
	}
	s.inside += max(min(d.end, s.end.at())-d.sent-d.stopped, 0)
	if len(d.observed) > 0 {
		s.pages.add(d.observed)
		f.idle = d.end
	}
	return word
}

// busy counts the time in which a client held a lock and gave it up as time inside calls.
func (s *shard) busy(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside += max(min(to, s.end.at())-from, 0)
}

// shed counts a request that was dropped because every client, or its own, was busy.
func (s *shard) shed(now int64, phase, op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.open.of(now)&1].at(phase, op).shed++
	s.ticks.at(now).ops[op].shed++
}

// unsent counts n requests that were due and are given up at the end of a step.
func (s *shard) unsent(now int64, phase, op int, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.open.of(now)&1].at(phase, op).unsent += n
	s.ticks.at(now).ops[op].unsent += n
}

// begin prepares for a step; flights are added by add.
func (s *shard) begin(flushed int64, st *step, g grid) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks.grid = g
	s.open.flushed, s.rated, s.flights = flushed, st.rated(), s.flights[:0]
	s.inside, s.waited, s.delay = 0, 0, 0
	s.window, s.coolDown = st.window(), st.coolDownStart()
}

func (s *shard) add(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.idle = s.open.clock.Now()
	s.flights = append(s.flights, f)
}

// take closes a second: it returns its slot and leaves an empty one in its place,
// and moves the ticks before number end and the counts by member to lists. Requests in flight that
// were sent in that second, or before, are counted as sent.
func (s *shard) take(sec int64, empty slot, end int64, ticks *[]tickCounts, members *[]results.MemberSecond) slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutWaits(sec)
	taken := s.slots[sec&1]
	s.slots[sec&1] = empty
	s.open.flushed = sec
	for _, f := range s.flights {
		w := f.word.Load()
		if w == 0 || w&flightCounted != 0 || s.open.clock.Second(sentAt(w)) > sec {
			continue
		}
		// The mark fails only if the deadline's was set at this moment. The next flush or
		// the request's end counts it then.
		if f.word.CompareAndSwap(w, w|flightCounted) {
			taken.at(phaseOf(w), opOf(w)).countSent(w)
			s.ticks.at(sentAt(w)).ops[opOf(w)].sent++
		}
	}
	s.ticks.take(end, ticks)
	s.members.take(sec, members)
	return taken
}

// stop forgets the step's flights and returns the time inside calls, the time without a
// server, and the client's own delay.
func (s *shard) stop() (inside, waited, delay int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights = s.flights[:0]
	return s.inside, s.waited, s.delay
}

func (s *shard) takeMembers(to *memberCounts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members.takeHistograms(to)
}

func (s *shard) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late.reset()
}

func (s *shard) addLateness(to *summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.merge(&s.late)
}

// shards divide the clients among them, so that clients rarely wait for one
// another to record.
type shards struct {
	all   []*shard
	spare slot // of the flusher: the empty slot that the next shard gets
}

// newShards returns a shard for each processor, at least 2 and at most 16, with slots of a
// size. A request holds its shard's lock for a fraction of a microsecond, and the histograms
// of a shard take more memory than a hundred clients.
func newShards(c clock.Clock, end *issueEnd, size int) *shards {
	s := &shards{all: make([]*shard, min(max(runtime.GOMAXPROCS(0), 2), 16)), spare: make(slot, size)}
	for i := range s.all {
		s.all[i] = &shard{end: end, open: openSeconds{clock: c}, slots: [2]slot{make(slot, size), make(slot, size)}}
	}
	return s
}

// of returns the shard into which client n of a step records.
func (s *shards) of(n int) *shard { return s.all[n%len(s.all)] }

// allocate makes the histograms of the tallies in the half-open range [from, to).
func (s *shards) allocate(from, to int, rated bool) {
	s.spare.allocate(from, to, rated)
	for _, one := range s.all {
		one.slots[0].allocate(from, to, rated)
		one.slots[1].allocate(from, to, rated)
		if rated {
			one.late.allocate()
		}
	}
}

// begin prepares for a step whose first second follows flushed. Flights belong to its
// clients, in order.
func (s *shards) begin(flushed int64, st *step, g grid, flights []*flight) {
	for _, one := range s.all {
		one.begin(flushed, st, g)
	}
	for n, f := range flights {
		s.of(n).add(f)
	}
}

// hold calls a function while nothing is recorded.
func (s *shards) hold(do func()) {
	for _, one := range s.all {
		one.mu.Lock()
		defer one.mu.Unlock()
	}
	do()
}

// take closes a second in every shard, adds the shards' slots to an empty one, adds the ticks
// before number end and the counts by member to lists, and returns how many bytes were read.
// One goroutine at a time calls it.
func (s *shards) take(sec int64, into slot, end int64, ticks *[]tickCounts, members *[]results.MemberSecond) (read int64) {
	for _, one := range s.all {
		s.spare = one.take(sec, s.spare, end, ticks, members)
		for n := range into {
			read += s.spare[n].read
			into[n].absorb(&s.spare[n])
		}
	}
	return read
}

// end forgets the step's flights and returns its clients' time inside calls, their time
// without a server, and their own delay.
func (s *shards) end() (inside, waited, delay time.Duration) {
	for _, one := range s.all {
		i, w, d := one.stop()
		inside += time.Duration(i)
		waited += time.Duration(w)
		delay += time.Duration(d)
	}
	return inside, waited, delay
}

// members moves the step's histograms by member into one for each.
func (s *shards) members() *memberCounts {
	all := &memberCounts{}
	for _, one := range s.all {
		one.takeMembers(all)
	}
	return all
}

// forget forgets the lateness of the steps so far.
func (s *shards) forget() {
	for _, one := range s.all {
		one.forget()
	}
}

// lateness merges the lateness of all shards.
func (s *shards) lateness() results.Spread {
	var all summary
	for _, one := range s.all {
		one.addLateness(&all)
	}
	return all.spread()
}

// openSeconds are the two seconds that can be recorded into: the ones after the last
// flushed second.
type openSeconds struct {
	clock   clock.Clock
	flushed int64
}

// of returns the open second of a moment. The bounds matter only if a goroutine was descheduled
// between reading the clock and recording.
func (o *openSeconds) of(ns int64) int64 {
	return min(max(o.clock.Second(ns), o.flushed+1), o.flushed+2)
}

// flight describes a client's request in flight, packed into one word so that a flush and the
// deadline watcher can read it while the client works: 0 when idle, else the time it was sent
// above nine bits of flags.
type flight struct {
	word atomic.Int64
	// waiting is when its client began to wait for a server, 0 if it does not wait; the
	// shard's lock guards it.
	waiting int64
	// idle is when its client last had no request in flight, as far as its observer knows; the
	// shard's lock guards it.
	idle int64
	_    [40]byte // its own cache line: neighbours belong to other clients
}

const (
	flightExpired = 1 << iota
	flightLate
	flightQueued
	flightPhase // two bits
	_
	flightOp // three bits
	_
	_
	flightCounted // as sent, by a flush
	flightShift   = iota
	maxOps        = workload.MaxMix
)

// flightSending is the word of a client with an observer between two requests: it reads, or has
// read, the clock for the next. It stands for no request: neither a flush nor the deadline
// watcher has anything to mark in it.
const flightSending = flightCounted | flightExpired

func packFlight(sent int64, phase, op int, flags int64) int64 {
	return (sent+1)<<flightShift | int64(op)*flightOp | int64(phase)*flightPhase | flags
}

// sentAt returns when a flight's request was sent.
func sentAt(word int64) int64 { return word>>flightShift - 1 }

func phaseOf(word int64) int { return int(word/flightPhase) & 3 }

func opOf(word int64) int { return int(word/flightOp) & (maxOps - 1) }
