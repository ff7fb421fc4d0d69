package load

import (
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// now reads the clock and reports that this client runs.
func (w *worker) now() int64 {
	now := w.clock.Now()
	w.stops.Seen(w.ran, now)
	w.ran = now
	return now
}

// returned ends a round trip of the call in flight and returns when.
func (w *worker) returned() int64 {
	now := w.now()
	w.stopped += w.stops.Delayed(w.trip, now)
	w.trip = now
	return now
}

// lateAfter is how much later than due a request may be sent by the client's own
// fault, in nanoseconds. A request beyond that counts as late: the delay is this
// machine's, not the database's.
const lateAfter = int64(time.Millisecond)

// alarm sets the client's timer to a time from now, in nanoseconds. Timers that nobody refers
// to need not be stopped.
func (w *worker) alarm(d int64) *time.Timer {
	if w.timer == nil {
		w.timer = time.NewTimer(time.Duration(d))
	} else {
		w.timer.Reset(time.Duration(d))
	}
	return w.timer
}

// wait sleeps until a time of the recorder's clock, or until issuing ends.
func (w *worker) wait(until int64) {
	d := until - w.step.rec.clock.Now()
	if d <= 0 {
		return
	}
	w.fiber.Leave()
	w.step.wait(w.alarm(d), until)
}

// wait sleeps until a time for which a timer is set, or until issuing ends.
func (s *step) wait(timer *time.Timer, until int64) {
	s.wakeup.Add(until)
	select {
	case <-timer.C:
		s.wakeup.Next()
	case <-s.stop.passed:
	}
}

// severed reports whether a request shows that its client has no server: the
// connection broke, or a member that cannot serve refused.
func (d *done) severed() bool {
	return d.class == database.ClassConnection || d.class == database.ClassUnavailable
}

// connected reports whether the client has a connection that is not known to be
// lost.
func (w *worker) connected() bool { return w.link != nil && w.conn.current.Load() == w.link }

// attach gives the client a link, and detach takes it.
func (w *worker) attach(l *link) {
	w.link, w.client, w.served = l, l.client, false
	w.hinted = hintedPutter(l.client, &w.step.spec)
	w.located, _ = l.client.(located)
}

func (w *worker) detach() {
	if w.link != nil {
		w.conn.release(w.link)
		w.link, w.client, w.hinted, w.located = nil, nil, nil, nil
	}
}

// hintedPutter returns the client's ability to take hints, nil if it has none or if
// the load does not know which keys exist: with one key for all requests, only the
// first write creates it.
func hintedPutter(client database.Client, spec *Spec) database.HintedPutter {
	hinted, ok := client.(database.HintedPutter)
	if !ok || spec.SameKey {
		return nil
	}
	return hinted
}

// await waits until the client has a connection. It returns false if the step has no
// use for the client any more: a closed loop stopped issuing, the drain of a rate is
// over, or no request is left to take. A client that holds a request of a rate waits
// for the drain's end. The wait is time without a server.
func (w *worker) await(holds bool) bool {
	s := w.step
	w.detach()
	l, up := w.conn.acquire()
	if l != nil {
		w.attach(l)
		return true
	}
	w.shard.startWait(&w.flight, s.rec.clock.Now())
	defer func() { w.shard.endWait(&w.flight, s.rec.clock.Now()) }()
	for l == nil {
		if !w.pauseFor(up, holds) {
			return false
		}
		l, up = w.conn.acquire()
	}
	w.attach(l)
	return true
}

// rest waits for the back-off after the connection for a single request was refused.
func (w *worker) rest() {
	s := w.step
	w.shard.startWait(&w.flight, s.rec.clock.Now())
	defer func() { w.shard.endWait(&w.flight, s.rec.clock.Now()) }()
	over := make(chan struct{})
	timer := time.AfterFunc(w.single.Next(), func() { close(over) })
	defer timer.Stop()
	w.pauseFor(over, false)
	w.refused = false
}

// endCheck is how often a client without a server looks whether the drain of a rate
// is over: its end is known late.
const endCheck = 100 * time.Millisecond

// pauseFor waits for up, or returns false as await does.
func (w *worker) pauseFor(up <-chan struct{}, holds bool) bool {
	s := w.step
	w.fiber.Leave()
	exhausted, passed := s.exhausted.done, s.stop.passed
	if holds {
		exhausted = nil
	}
	for {
		wait := int64(math.MaxInt64)
		if s.rated() {
			passed = nil
			if wait = s.drained() - s.rec.clock.Now(); wait <= 0 {
				return false
			}
			wait = min(wait, int64(endCheck))
		}
		alarm := w.alarm(wait)
		select {
		case <-up:
			return true
		case <-exhausted:
			return false
		case <-passed:
			return false
		case <-alarm.C:
		}
	}
}

// drained is when the drain of a rate ends: no request is sent from then on.
func (s *step) drained() int64 {
	end := s.rec.issueEnd.at()
	if end > math.MaxInt64-int64(s.spec.Drain) {
		return math.MaxInt64
	}
	return end + int64(s.spec.Drain)
}

// window bounds the measured part of a step, as times of the recorder's clock. The
// end is open if the step has no duration: it is measured until its last answer.
type window struct{ from, to int64 }

func (s *step) window() window {
	w := window{from: s.start + s.phaseEnd[warmUp], to: math.MaxInt64}
	if s.Duration > 0 {
		w.to = s.start + min(int64(s.Duration), s.phaseEnd[measure])
	}
	return w
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

// addWait adds a wait to the seconds and phases that it covers. The shard is
// locked.
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

// cutWaits adds the share of a second that running waits took. The shard is locked.
func (s *shard) cutWaits(sec int64) {
	end := s.open.clock.SecondStart(sec + 1)
	for _, f := range s.flights {
		if f.waiting != 0 && f.waiting < end {
			s.addWait(f.waiting, end)
			f.waiting = end
		}
	}
}
