package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/clock"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// behaviour is what a client does while its step runs, such as applying requests one after the
// other.
type behaviour interface {
	// run returns when the step has no more work for the client. With a fiber, goroutines of others
	// may run it between two requests, until one fails: anything that may wait leaves these
	// goroutines first. The client's context bounds a call to the database client as soon as the
	// flight has a word.
	run()
}

// client sends requests in a step, as its behaviour chooses.
type client struct {
	step   *step
	does   behaviour
	conn   *connection
	link   *link // nil while unconnected
	served bool  // link has served this client
	// db, hinted and located belong to link; hinted is nil without the ability or the knowledge.
	db     database.Client
	hinted database.HintedPutter
	// appends is nil if db cannot read into buffers.
	appends database.AppendGetter
	// located is nil if db does not know its member; link then has the member.
	located located
	// versioned is nil if db does not know the versions its writes make.
	versioned database.WriteVersioner
	shard     *shard
	flight    flight
	member    int // to which the last request went
	ctx       atomic.Pointer[callContext]
	timer     *time.Timer // nil until the client first waits for a time
	ramp      int64       // when this client begins, after the step starts
	first     int64       // when this client first sent a request; 0 before
	clock     clock.Clock
	stops     *stops.Stops
	ran       int64        // when this client last read the clock, for the stops and call deadlines
	trip      int64        // when the round trip in flight began
	stopped   int64        // time by which stops delayed the call in flight
	fiber     *fiber.Fiber // nil if the client runs on its own goroutine
}

// init makes client n, on a connection, with a behaviour.
func (c *client) init(s *step, n, conn int, does behaviour) {
	c.step, c.does, c.conn, c.shard = s, does, s.conns[conn], s.rec.shards.of(n)
	c.clock, c.stops = s.rec.clock, s.rec.stops
	if s.Ramp > 0 {
		c.ramp = int64(s.Ramp) * s.spec.Part.Number(int64(n)) / int64(s.Clients)
	}
	c.ctx.Store(newCallContext(c))
}

// run waits until the client begins, and runs its behaviour.
func (c *client) run(f *fiber.Fiber) {
	c.fiber = f
	defer func() { c.ctx.Load().end() }()
	defer c.detach()
	if begin := c.step.start + c.ramp; c.step.Rate == 0 {
		if c.wait(begin); c.clock.Now() < begin { // issuing ended before
			return
		}
		c.timer = nil // a closed loop needs no timer, unless its server is lost
	}
	c.does.run()
}

// now reads the clock and reports that this client runs.
func (c *client) now() int64 {
	now := c.clock.Now()
	c.stops.Seen(c.ran, now)
	c.ran = now
	return now
}

// sends notes that the client sends a request at a moment: its flight, its member, and the round
// trip that begins.
func (c *client) sends(at int64, phase, op int, flags int64) {
	if c.first == 0 {
		c.first = at
	}
	c.flight.word.Store(packFlight(at, phase, op, flags))
	if c.member = c.link.member; c.located != nil {
		c.member = c.located.Member()
	}
	c.trip, c.stopped = at, 0
}

// returned ends a round trip in the call in flight and returns when it ended.
func (c *client) returned() int64 {
	now := c.now()
	c.stopped += c.stops.Delayed(c.trip, now)
	c.trip = now
	return now
}

// ended records the request in flight.
func (c *client) ended(d *done) {
	if c.shard.record(&c.flight, d)&flightExpired != 0 {
		c.ctx.Store(newCallContext(c))
	}
}

// classify sets the outcome, and whether a failure is an answer. A call canceled by the deadline
// watcher is a time-out, whatever error the client returned.
func (c *client) classify(d *done) {
	d.outcome, d.class = database.Classify(d.err)
	if c.flight.word.Load()&flightExpired != 0 && d.outcome != workload.OK {
		d.class = database.ClassTimeout
	}
	s := c.step
	d.declined = d.outcome == workload.Failed && database.Declined(s.rec.accounts.ops[d.op], d.class, s.deletes)
}

// connected reports whether the client has a connection not known to be lost.
func (c *client) connected() bool { return c.link != nil && c.conn.current.Load() == c.link }

// attach gives the client a link, and detach takes it.
func (c *client) attach(l *link) {
	c.link, c.db, c.served = l, l.client, false
	c.hinted = hintedPutter(l.client, &c.step.spec)
	c.appends, _ = l.client.(database.AppendGetter)
	c.located, _ = l.client.(located)
	c.versioned, _ = l.client.(database.WriteVersioner)
}

func (c *client) detach() {
	if c.link != nil {
		c.conn.release(c.link)
		c.link, c.db, c.hinted, c.appends, c.located, c.versioned = nil, nil, nil, nil, nil, nil
	}
}

// watchConnection replaces the connection after a request that found no server.
func (c *client) watchConnection(d *done) {
	switch {
	case d.severed():
		c.conn.lose(c.link, d.err)
	case d.outcome == workload.OK && !c.served:
		c.served = true
		c.conn.serves(c.link)
	}
}

// callContext is the context for calls by a client. A context with a timer for every request would
// cost more than all else in the request. So a client keeps one context until a deadline passes,
// and one watcher cancels late calls.
type callContext struct {
	context.Context
	client *client
	cancel context.CancelFunc
	ended  atomic.Bool // or it ends at this moment
}

func newCallContext(c *client) *callContext {
	ctx, cancel := context.WithCancel(context.Background())
	return &callContext{Context: ctx, client: c, cancel: cancel}
}

// end ends the context.
func (c *callContext) end() {
	c.ended.Store(true)
	c.cancel()
}

// alarm sets the timer to a time from now, in nanoseconds. Unreferenced timers need not be stopped.
func (c *client) alarm(d int64) *time.Timer {
	if c.timer == nil {
		c.timer = time.NewTimer(time.Duration(d))
	} else {
		c.timer.Reset(time.Duration(d))
	}
	return c.timer
}

// wait sleeps until a time by the recorder clock, or until issuing ends.
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

// hintedPutter returns the client as one that takes hints, nil without the ability or if the load
// does not know which keys exist: with one key for all requests, only the first write creates it.
func hintedPutter(client database.Client, spec *Spec) database.HintedPutter {
	hinted, ok := client.(database.HintedPutter)
	if !ok || spec.SameKey {
		return nil
	}
	return hinted
}
