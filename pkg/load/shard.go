package load

import (
	"math"
	"sync"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// shard records requests by some clients. It has two slots, chosen by the second's parity, so that
// one second can be flushed while the next is being filled.
type shard struct {
	end *issueEnd

	mu    sync.Mutex
	open  openSeconds
	rated bool
	slots [2]slot
	ticks tickRing
	// members count the same requests by member.
	members memberCounts
	// inside is client time inside calls in this step, in nanoseconds.
	inside int64
	// delay is the time that the client itself added to ok requests in the measured phase of this
	// step, in nanoseconds.
	delay int64
	// waited is client time without a server in the step's window, in nanoseconds. coolDown is when
	// the cool-down begins.
	waited   int64
	window   window
	coolDown int64
	// late is how late requests with a rate were, in all steps since forget.
	late summary
	// flights are the requests in flight for clients in this shard.
	flights []*flight
	pages   pages
	_       [64]byte
}

// record counts an ended request and clears its flight. A flush that found the request in flight
// has counted it as sent; otherwise it is counted as sent now, in an open second even if its own
// second was flushed while the goroutine was descheduled. record returns the word of the flight,
// which is marked if the deadline has passed.
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

// shed counts a request dropped because every client, or its own, was busy.
func (s *shard) shed(now int64, phase, op int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.open.of(now)&1].at(phase, op).shed++
	s.ticks.at(now).ops[op].shed++
}

// unsent counts n requests that were due and are given up when a step ends.
func (s *shard) unsent(now int64, phase, op int, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots[s.open.of(now)&1].at(phase, op).unsent += n
	s.ticks.at(now).ops[op].unsent += n
}

// begin prepares for a step; flights are added by add.
func (s *shard) begin(flushed int64, p *plan, g grid) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks.grid = g
	s.open.flushed, s.rated, s.flights = flushed, p.rated(), s.flights[:0]
	s.inside, s.waited, s.delay = 0, 0, 0
	s.window, s.coolDown = p.window(), p.coolDownStart()
}

func (s *shard) add(f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.idle = s.open.clock.Now()
	s.flights = append(s.flights, f)
}

// take closes a second: it returns its slot and leaves an empty one in its place, and moves the
// ticks before number end and the counts by member to lists. Requests in flight, sent in that
// second or before, are counted as sent.
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
		// The mark fails only if the deadline mark was set at this moment. The next flush or the
		// end of the request counts it then.
		if f.word.CompareAndSwap(w, w|flightCounted) {
			taken.at(phaseOf(w), opOf(w)).countSent(w)
			s.ticks.at(sentAt(w)).ops[opOf(w)].sent++
		}
	}
	s.ticks.take(end, ticks)
	s.members.take(sec, members)
	return taken
}

// stop forgets the flights of the step and returns the time inside calls, the time without a
// server, and the delay by the clients themselves.
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

// startWait begins a client's wait for a server.
func (s *shard) startWait(f *flight, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.waiting = now
}

// endWait ends a client's wait for a server.
func (s *shard) endWait(f *flight, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addWait(f.waiting, now)
	f.waiting = 0
}

// addWait adds a wait to the seconds and phases it covers. The shard is locked.
func (s *shard) addWait(from, to int64) {
	end := s.window.to
	if end < math.MaxInt64 {
		end = min(end, s.end.at())
	}
	s.waited += max(min(to, end)-max(from, s.window.from), 0)
	for from < to {
		phase := measure
		switch {
		case from < s.window.from:
			phase = warmUp
		case from >= s.coolDown:
			phase = coolDown
		}
		next := min(to, s.open.clock.SecondStart(s.open.clock.Second(from)+1))
		for _, edge := range [...]int64{s.window.from, s.coolDown} {
			if from < edge {
				next = min(next, edge)
			}
		}
		s.slots[s.open.of(from)&1].at(phase, 0).waiting += next - from
		from = next
	}
}

// cutWaits adds a second's share of running waits. The shard is locked.
func (s *shard) cutWaits(sec int64) {
	end := s.open.clock.SecondStart(sec + 1)
	for _, f := range s.flights {
		if f.waiting != 0 && f.waiting < end {
			s.addWait(f.waiting, end)
			f.waiting = end
		}
	}
}

// takeEnded moves the ended requests to a list, and returns a moment. Every request that clients of
// the shard sent before that moment has been taken by now. now is an earlier clock reading.
func (s *shard) takeEnded(now int64, to *[][]Ended) (before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*to = append(*to, s.pages.all...)
	clear(s.pages.all)
	s.pages.all = s.pages.all[:0]
	before = now
	for _, f := range s.flights {
		before = min(before, f.earliest(now))
	}
	return before
}
