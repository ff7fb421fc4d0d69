package load

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// phases in the order of their numbers in this package.
var phases = [...]results.Phase{results.PhaseWarmUp, results.PhaseMeasure, results.PhaseCoolDown}

const (
	warmUp = iota
	measure
	coolDown
	numPhases
)

// The clocks, in the order of results.Timings.
const (
	response = iota
	service
	numClocks
)

// done is one request that ended, in nanoseconds of the recorder's clock.
type done struct {
	due, sent, end int64
	phase, op      int
	read           int64 // bytes of the value that was read
	outcome        database.Outcome
	class          database.Class
	err            error
}

// shard gathers what some of the clients did. Two slots, by the parity of the
// second, let one second be flushed while the next is being filled.
type shard struct {
	mu      sync.Mutex
	flushed int64 // the last second that was flushed
	slots   [2]slot
	// inside is the clients' time inside calls in this step; late are all steps'
	// latenesses of clients that waited for a due time.
	inside int64
	late   summary
	// flights are the requests that this shard's clients have in flight.
	flights []*flight
	_       [64]byte
}

// slot is one second of one shard: a tally for each phase and operation.
type slot []tally

// at is the tally of a phase and an operation.
func (s slot) at(phase, op int) *tally { return &s[phase*len(s)/numPhases+op] }

// tally counts one phase and operation of one second.
type tally struct {
	sent, queued, late int64
	shed, unsent, read int64
	ended              [3]int64
	latency            [numClocks]summary // of ok requests
}

// summary is a latency's exact part and its histogram.
type summary struct {
	latency   results.Latency
	histogram *hdrhistogram.Histogram
	clamped   int64
}

func (s *summary) add(ns int64) {
	s.latency.Add(time.Duration(ns))
	if s.histogram == nil {
		s.allocate()
	}
	if results.Record(s.histogram, time.Duration(ns)) {
		s.clamped++
	}
}

func (s *summary) merge(o *summary) {
	if o.latency.Count == 0 {
		return
	}
	s.latency = s.latency.Merge(o.latency)
	s.clamped += o.clamped
	if s.histogram == nil {
		s.allocate()
	}
	s.histogram.Merge(o.histogram)
}

// absorb adds another summary, and empties that. The first one of several costs
// nothing.
func (s *summary) absorb(o *summary) {
	if s.latency.Count == 0 {
		*s, *o = *o, *s
		return
	}
	s.merge(o)
	o.reset()
}

// allocate makes the histogram, if there is none, and touches all of its memory,
// which is resident then.
func (s *summary) allocate() {
	if s.histogram == nil {
		s.histogram = results.NewHistogram()
		s.histogram.Reset()
	}
}

// reset empties the summary and keeps its memory.
func (s *summary) reset() {
	if s.latency.Count > 0 {
		s.latency, s.clamped = results.Latency{}, 0
		s.histogram.Reset()
	}
}

// allocate makes the histograms of a tally of requests, which have response times
// if they are rated.
func (t *tally) allocate(rated bool) {
	t.latency[service].allocate()
	if rated {
		t.latency[response].allocate()
	}
}

// reset empties the tally and keeps its histograms.
func (t *tally) reset() {
	t.sent, t.queued, t.late, t.shed, t.unsent, t.read, t.ended = 0, 0, 0, 0, 0, 0, [3]int64{}
	for c := range t.latency {
		t.latency[c].reset()
	}
}

// flight is a client's request in flight, packed into one word so that a flush
// and the deadline watcher can read it while the client works: 0 when idle, else
// the time it was sent above nine bits of flags.
type flight struct {
	word atomic.Int64
	_    [56]byte // its own cache line: neighbours belong to other clients
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
	maxOps        = 8
)

func packFlight(sent int64, phase, op int, flags int64) int64 {
	return (sent+1)<<flightShift | int64(op)*flightOp | int64(phase)*flightPhase | flags
}

// sentAt is when a flight's request was sent.
func sentAt(word int64) int64 { return word>>flightShift - 1 }

// count adds a flight to the second in which its request was sent.
func (t *tally) count(word int64) {
	t.sent++
	if word&flightQueued != 0 {
		t.queued++
	}
	if word&flightLate != 0 {
		t.late++
	}
}

func phaseOf(word int64) int { return int(word/flightPhase) & 3 }

func opOf(word int64) int { return int(word/flightOp) & (maxOps - 1) }

// second places a moment in an open second: the flushed ones are closed, and at
// most two are open. Both bounds matter only when a goroutine was held up between
// reading the clock and getting here.
func (s *shard) second(r *Recorder, ns int64) int64 {
	sec := r.second(ns)
	return min(max(sec, s.flushed+1), s.flushed+2)
}

// record counts a request that ended and takes its flight down. A request that a
// flush met in flight was counted as sent then; the others are counted now, in an
// open second even if the goroutine was held up for so long between reading the
// clock and taking off that the second it was sent in is closed. It returns the
// flight, which tells whether its deadline passed.
func (s *shard) record(r *Recorder, f *flight, d *done) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	word := f.word.Swap(0)
	if word&flightCounted == 0 {
		s.slots[s.second(r, d.sent)&1].at(d.phase, d.op).count(word)
	}
	t := s.slots[s.second(r, d.end)&1].at(d.phase, d.op)
	t.ended[d.outcome]++
	t.read += d.read
	if d.outcome == database.OK {
		t.latency[service].add(d.end - d.sent)
		if r.rated {
			t.latency[response].add(d.end - d.due)
		}
	}
	if r.rated && word&flightQueued == 0 {
		s.late.add(d.sent - d.due)
	}
	s.inside += max(min(d.end, r.issueEnd.Load())-d.sent, 0)
	return word
}

// shed counts a request that was dropped because every client was busy.
func (s *shard) shed(r *Recorder, now int64, phase, op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.second(r, now)&1].at(phase, op).shed++
}

// unsent counts a request that was due and is given up at the end of a step.
func (s *shard) unsent(r *Recorder, now int64, phase, op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.second(r, now)&1].at(phase, op).unsent++
}
