package load

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// observed describes requests by one client for an observer.
type observed struct {
	history            *history
	client, connection int32
	ended              []Ended // from the last request
}

// newObserved returns nil for a step without an observer.
func newObserved(s *step, client, connection int) *observed {
	if s.rec.history == nil {
		return nil
	}
	number := func(n int) int32 { return int32(s.spec.Part.Number(int64(n))) }
	return &observed{history: s.rec.history, client: number(client), connection: number(connection), ended: make([]Ended, 0, 1)}
}

// await waits until the observer is not too far behind.
func (o *observed) await(c *client) {
	if !o.history.pool.full.Load() {
		return
	}
	room := o.history.pool.wanted()
	if room == nil {
		return
	}
	c.fiber.Leave()
	from := o.history.clock.Now()
	<-room
	o.history.pool.addWait(o.history.clock.Now() - from)
}

// readClock reads the clock for the next request. Meanwhile the flight shows that the client may
// have read the clock.
func (o *observed) readClock(c *client) int64 {
	c.flight.word.Store(flightSending)
	sent := c.now()
	if o.history.descheduled != nil {
		o.history.descheduled()
	}
	return sent
}

// see describes the last ended request for the observer. The result is valid until the next
// call.
func (o *observed) see(a *applier, req requests.Request, d *done) []Ended {
	o.ended = append(o.ended[:0], Ended{
		Number: req.Number, Key: req.Key, Read: a.got.by.Number, ReadKnown: a.got.by.Known, Expected: -1, Version: -1, Change: -1,
		Due: o.history.unix + d.due, Sent: o.history.unix + d.sent, End: o.history.unix + d.end, Outcome: d.outcome, Missing: d.class == database.ClassNotFound,
		Client: o.client, Connection: o.connection, Member: int32(d.member), Op: uint8(d.op),
	})
	one := &o.ended[0]
	if d.outcome == workload.Failed && d.class == database.ClassWrongValue {
		one.Read, one.ReadKnown = NoRequest, true
	}
	if v := a.client.versioned; v != nil && d.outcome == workload.OK && a.client.step.work.Sends(req) {
		one.Change = v.WriteVersion()
	}
	if a.guarded == nil || !a.client.step.rec.accounts.ops[d.op].Guarded() {
		return o.ended
	}
	each := *one
	o.ended = o.ended[:0]
	for n, key := range a.guarded.keys {
		each.Key, each.Expected, each.Version = key, -1, -1
		if n < len(a.guarded.expected) {
			each.Expected = a.guarded.expected[n]
		}
		if d.outcome == workload.OK {
			each.Version = a.guarded.puts[n].Version
		}
		o.ended = append(o.ended, each)
	}
	return o.ended
}
