package load

import (
	"math"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// lateAfter is how much later than due a request may be sent by the client's own
// fault, in nanoseconds. A request beyond that counts as late: the delay is this
// machine's, not the database's.
const lateAfter = int64(time.Millisecond)

// alarm sets the client's timer to a time from now, in nanoseconds. Unreferenced timers
// need not be stopped.
func (c *client) alarm(d int64) *time.Timer {
	if c.timer == nil {
		c.timer = time.NewTimer(time.Duration(d))
	} else {
		c.timer.Reset(time.Duration(d))
	}
	return c.timer
}

// wait sleeps until a time of the recorder's clock, or until issuing ends.
func (c *client) wait(until int64) {
	d := until - c.step.rec.clock.Now()
	if d <= 0 {
		return
	}
	if c.fiber != nil && c.step.alarms != nil {
		c.step.alarms.Wait(c.fiber, until)
		return
	}
	c.fiber.Leave()
	c.step.wait(c.alarm(d), until)
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
// connection broke, or a member that cannot serve refused the request.
func (d *done) severed() bool {
	return d.class == database.ClassConnection || d.class == database.ClassUnavailable
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
func (c *client) await(holds bool) bool {
	if c.follow() {
		return true
	}
	s := c.step
	c.shard.startWait(&c.flight, s.rec.clock.Now())
	defer func() { c.shard.endWait(&c.flight, s.rec.clock.Now()) }()
	for {
		l, up := c.conn.acquire()
		if l != nil {
			c.attach(l)
			return true
		}
		if !c.pauseFor(up, holds) {
			return false
		}
	}
}

// follow gives the client the link that its connection has now, and reports whether there is one.
func (c *client) follow() bool {
	c.detach()
	l, _ := c.conn.acquire()
	if l != nil {
		c.attach(l)
	}
	return l != nil
}

// endCheck is how often a client without a server checks whether the drain of a rate
// is over: the end of a drain is known late.
const endCheck = 100 * time.Millisecond

// pauseFor waits for up, or returns false as await does.
func (c *client) pauseFor(up <-chan struct{}, holds bool) bool {
	s := c.step
	c.fiber.Leave()
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
		alarm := c.alarm(wait)
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

// drained returns the time at which the drain of a rate ends: no request is sent from then on.
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
