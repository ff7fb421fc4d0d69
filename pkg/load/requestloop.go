package load

import (
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/workload"
)

var _ behaviour = (*requestLoop)(nil)

// requestLoop is a client behaviour: it takes requests from the schedule and applies them one at a
// time.
type requestLoop struct {
	client  client
	applier applier
	hand    *schedule.Hand // nil if requests are not bound to clients
	seen    *observed      // nil without an observer
}

// newRequestLoop returns client n, which applies requests.
func newRequestLoop(s *step, n, conn int) *client {
	l := &requestLoop{seen: newObserved(s, n, conn)}
	l.client.init(s, n, conn, l)
	l.applier.client, l.applier.guarded = &l.client, newGuarded(s)
	if s.dealer != nil {
		l.hand = s.dealer.Hand(n)
	}
	return &l.client
}

// run applies requests until there are no more.
func (l *requestLoop) run() {
	if l.client.fiber != nil {
		l.applier.room = sharedRoom(&l.client.step.spec.Load)
	}
	for l.one() {
	}
}

// one takes a request and applies it; false means that there are no more.
func (l *requestLoop) one() bool {
	s := l.client.step
	if l.seen != nil {
		l.seen.await(&l.client)
	}
	if l.applier.refused {
		l.applier.rest()
	}
	// A client without a server takes no request. When a rate ends it takes the rest, to give
	// them up.
	if !l.client.connected() && !l.client.await(false) && !s.rated() {
		return false
	}
	if !s.rated() {
		return l.closed()
	}
	i, due, ok := l.next()
	if !ok {
		s.exhaust()
		return false
	}
	return l.open(i, s.start+due)
}

// next takes the next request for a rate: any, or the next for this client.
func (l *requestLoop) next() (i, due int64, ok bool) {
	if l.hand != nil {
		return l.hand.Next()
	}
	return l.client.step.schedule.Next()
}

// closed applies a request of a closed loop, which is due when it is sent. Every request handed out
// by the schedule is sent. When the schedule has no more, issuing ends; requests already taken by
// other clients are still sent.
func (l *requestLoop) closed() bool {
	s := l.client.step
	// Reading the clock is much of what the engine costs.
	if s.stop.planned() && s.stop.over(l.client.now()) {
		return false
	}
	i, _, ok := s.schedule.Next()
	if !ok {
		s.exhaust()
		return false
	}
	l.apply(i, 0, 0)
	return true
}

// open applies a request at a rate when it is due, or as soon after as this client is free. If
// requests are bound to clients, the client's remaining requests are all due later than this one.
func (l *requestLoop) open(i, due int64) bool {
	c, s := &l.client, l.client.step
	before := c.stops.Number()
	now := c.now()
	var flags int64
	if now < due {
		c.stops.Free(before)
		c.wait(due)
		if now = c.now(); now-due > lateAfter {
			flags = flightLate
			c.stops.Woke(due, now)
		}
	} else {
		flags = flightQueued
	}
	if due >= s.stop.at() { // issuing ended before it was due: it was never offered
		s.work.Skip(s.number(i))
		return false
	}
	// While the client waited, its link may have been replaced.
	if !c.connected() && !c.follow() {
		flags = flightQueued // no server, so this client is not free
		if s.spec.Backlog != workload.BacklogShed {
			c.await(true)
			now = c.now()
		}
	}
	switch {
	case flags == flightQueued && now >= s.drained():
		s.work.Skip(s.number(i))
		op := s.work.Op(s.number(i))
		c.shard.unsent(now, s.phase(due-s.start), op, 1)
		l.giveUp(now)
		return true
	case s.spec.Backlog == workload.BacklogShed && flags == flightQueued && (now-due > lateAfter || !c.connected()):
		op := s.work.Op(s.number(i))
		c.shard.shed(now, s.phase(due-s.start), op)
		return true
	}
	if flags == flightQueued && now-due > lateAfter && c.stops.Share(now-due) == now-due {
		flags = flightLate // it queued only because the client was stopped
	}
	l.apply(i, due, flags)
	return true
}

// apply sends request i and records its outcome.
func (l *requestLoop) apply(i, due, flags int64) {
	c, a, s := &l.client, &l.applier, l.client.step
	req := a.prepare(s.number(i))
	read := int64(0) // time spent reading the versions named by the request
	if a.guarded != nil {
		if read = a.guard(req); read > 0 && flags == 0 {
			flags = flightQueued
		}
	}
	s.work.Sending(req)
	call := c.ctx.Load()
	var sent int64
	if l.seen == nil {
		sent = c.now()
	} else {
		sent = l.seen.readClock(c)
	}
	if s.Rate == 0 {
		due = sent
	}
	late := sent - due - read
	if flags&flightQueued != 0 {
		late = c.stops.Share(late)
	}
	phase := s.phase(due - s.start)
	c.sends(sent, phase, req.Op, flags)
	err := a.attempt(call, req)
	d := done{member: c.member, due: due, sent: sent, end: c.returned(), phase: phase, op: req.Op, err: err, late: late}
	d.stopped = c.stopped
	if a.turn != nil { // the request for the fence came after
		d.end = min(max(a.turn.Acquired(), sent), d.end)
	}
	if a.got.read && err == nil {
		d.read, d.err = a.got.bytes, a.check(req)
	}
	if d.err != nil {
		d.read = 0
		c.classify(&d)
		a.forget()
		c.fiber.Leave()
	} else {
		d.written = a.payload
	}
	if l.seen != nil {
		d.observed = l.seen.see(a, req, &d)
	}
	if a.got.read {
		a.got = reply{}
	}
	c.ended(&d)
	if d.outcome == workload.OK {
		s.work.Written(req)
	} else {
		s.rec.fails.record(&d)
	}
	if s.work.Operation(req) != workload.OpReadOneshot && !s.work.Locks(req) { // those have their own connections
		c.watchConnection(&d)
	}
	if a.guarded != nil {
		a.guarded.refresh(c)
	}
	if a.turn != nil {
		a.giveUp(d.end)
	}
}

// giveUp counts the requests not taken by any client when the drain ends, a whole phase at once:
// a database that answers one request in a thousand leaves more requests than clients could take
// one by one. Requests bound to a client are taken one by one, by that client.
func (l *requestLoop) giveUp(now int64) {
	s := l.client.step
	rest, ok := s.schedule.(schedule.Leaver)
	if !ok {
		return
	}
	until := min(s.stop.at(), s.rec.issueEnd.at()) - s.start
	counts := make([]int64, len(s.rec.accounts.ops))
	for phase := range numPhases {
		end := until
		if phase < coolDown {
			end = min(until, s.phaseEnd[phase])
		}
		from, to := rest.Leave(end)
		if from >= to {
			continue
		}
		if s.others == 0 { // parts do not read created keys
			s.work.SkipAll(s.first+from, s.first+to)
		}
		clear(counts)
		s.count(from, to, counts)
		for op, n := range counts {
			l.client.shard.unsent(now, phase, op, n)
		}
	}
}
