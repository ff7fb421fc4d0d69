// Package issuer issues one part of a load from this process: it writes its keys before the load,
// opens the connections for each step, and runs it. Control has one for a load that it issues
// itself, and an agent for its part of a load on several machines.
package issuer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/load/pool"
	"github.com/coreos/dbtester/pkg/results"
)

// Options are the inputs of an issuer. They do not change after [New].
type Options struct {
	// Database is the database name for people, and Driver makes its clients.
	Database string
	Driver   database.Driver
	// Locks are the facts about locks in the database; nil without locks.
	Locks *database.LockFacts
	// Spec is the whole load, with the part that this process issues.
	Spec load.Spec
	// Event is called, by any goroutine, for the first connection that a step loses and for the
	// first one that it opens to replace a lost one.
	Event func(kind string, member int, text string)
	// Gone reports whether all given members are lost.
	Gone func(members []int) bool
	// Watch sees every request in all steps, as an observer does; it may be nil.
	Watch load.Watch
}

// Issuer issues one part of a load. One goroutine at a time calls its methods, except
// [Issuer.Clients] and [Issuer.FailBack].
type Issuer struct {
	opts     Options
	clients  atomic.Int64
	failBack chan load.FailBack
	// Connect leaves these for Run, and Run for the next Connect if they are kept.
	conns  []database.Client
	dialer *connect.Dialer
	next   load.Step
	keep   bool
	kept   bool // an earlier step left the connections
	// out passes on records from all steps; rec and engine are nil before Begin.
	out    redirect
	rec    *load.Recorder
	engine *load.Engine
	leased leased
	// contenders take locks for requests; nil in other loads.
	contenders *contenders.Pool
}

// New returns an issuer without connections.
func New(o Options) *Issuer {
	i := &Issuer{opts: o, failBack: make(chan load.FailBack), leased: leased{pool: pool.New(o.Spec.SessionTTL)}}
	i.contenders = i.newContenders()
	return i
}

// Begin declares the load: its records use the clock that currently shows now. Progress, if not
// nil, is called once a second.
func (i *Issuer) Begin(now time.Time, progress func(load.Progress)) {
	var sink load.Sink = &i.out
	if i.opts.Watch != nil {
		sink = watched{&i.out, i.opts.Watch}
	}
	i.rec = load.NewRecorderAt(now, sink, i.opts.Spec.Operations(), progress)
	i.engine = load.NewEngine(i.opts.Spec, i.rec)
	i.engine.TakeSessions(i.leased.pool)
	if i.contenders != nil {
		i.contenders.Begin(i.rec.Clock(), i.rec.LongStops)
		i.engine.TakeContenders(i.contenders)
	}
}

// Begun reports whether the load is declared.
func (i *Issuer) Begun() bool { return i.engine != nil }

// Continue notes the request numbers that the last step used up over all parts; see
// [load.Engine.Continue].
func (i *Issuer) Continue(requests int64) error { return i.engine.Continue(requests) }

// Forget makes the lateness, the scheduling lag and the stops in an [End] restart with the next
// step.
func (i *Issuer) Forget() { i.rec.Forget() }

// Clients returns the number of clients that this part has in the last connected step. It is safe
// for concurrent use.
func (i *Issuer) Clients() int64 { return i.clients.Load() }

// Connect opens the connections of this part for a step. Keep leaves them open after the step: the
// next Connect uses them if it needs as many and none was lost. After an error no connection is
// open; a [*connect.RefusedError] names the member.
func (i *Issuer) Connect(ctx context.Context, d *connect.Dialer, step load.Step, keep bool) error {
	clients := i.opts.Spec.Part.Count(int64(step.Clients))
	n := int(min(i.share(step.Connections), clients))
	i.leased.over(d, n)
	if len(i.conns) != n || !i.kept || slices.Contains(i.conns, nil) {
		_ = i.Disconnect() // connections are lost, or for a step that did not run
		conns, err := d.Open(ctx, n)
		if err != nil {
			return err
		}
		i.conns, i.dialer = conns, d
	}
	if err := i.contend(ctx, d, clients); err != nil {
		return errors.Join(err, i.Disconnect())
	}
	i.next, i.keep, i.kept = step, keep, false
	i.clients.Store(clients)
	return nil
}

// share returns the number of clients or connections in the whole load that belong to this part, at
// least one.
func (i *Issuer) share(n int) int64 { return max(i.opts.Spec.Part.Count(int64(n)), 1) }

// Next returns the connected step.
func (i *Issuer) Next() load.Step { return i.next }

// Connections returns the number of connections that the last Connect left open.
func (i *Issuer) Connections() int { return len(i.conns) }

// Disconnect closes the connections, and the contenders for locks.
func (i *Issuer) Disconnect() error {
	conns := i.conns
	i.conns, i.dialer = nil, nil
	return errors.Join(i.disband(), database.CloseAll(conns))
}

// End describes how a step ended in a part.
type End struct {
	// Result comes from the engine. Its Start is zero if the step did not begin.
	Result load.StepResult
	// FirstSent is when the first request was sent, after the agreed start; negative if nothing was
	// sent, or if no start was agreed. With a rate, the first request of part p is due p/rate after
	// the start.
	FirstSent time.Duration
	// Totals, the surely and the perhaps created keys, SchedulingLag, Lateness and Stops cover
	// all steps so far; the last three since [Issuer.Forget].
	Totals                        results.Totals
	CreatedSurely, CreatedPerhaps int64
	SchedulingLag, Lateness       results.Spread
	Stops                         results.Stops
	// CPU is the CPU time of this process during the step, user and system; negative if it is not
	// known.
	CPU time.Duration
	// Error is why the step did not end by itself, "" if it did. Stopped reports that
	// control ended the step, MembersGone that all members were lost: neither is an error.
	Error                string
	Stopped, MembersGone bool
}

// Run runs the connected step, from an agreed start on or, if that is the zero time, at once. It
// closes the connections unless they are kept. The records go to a sink. The end has no Error; the
// error comes from [load.Engine.Step].
func (i *Issuer) Run(ctx context.Context, start time.Time, to load.MemberSink) (End, error) {
	step := i.next
	step.Start, step.Dial, step.Reconnect = start, i.dialer.Single, i.reconnect()
	i.out.MemberSink = to
	before := processorTime()
	res, err := i.engine.Step(ctx, step, i.conns)
	end := End{Result: res, FirstSent: -1, CPU: -1}
	if after := processorTime(); before >= 0 && after >= before {
		end.CPU = after - before
	}
	if i.kept = i.keep; !i.kept {
		err = errors.Join(err, i.Disconnect())
	}
	if !res.FirstSent.IsZero() && !start.IsZero() {
		end.FirstSent = res.FirstSent.Sub(start)
	}
	end.Totals, end.SchedulingLag, end.Lateness, end.Stops = i.rec.Totals(), i.rec.SchedulingLag(), i.rec.Lateness(), i.rec.Stops()
	end.CreatedSurely, end.CreatedPerhaps = i.rec.Created()
	return end, err
}

// FailBack makes connections that failed over in the running step return to their first members,
// and counts them. Without a running step it waits for the next one. It returns the cause of ctx if
// no step ran. It is safe for concurrent use.
func (i *Issuer) FailBack(ctx context.Context) (load.FailedBack, error) {
	result := make(chan load.FailedBack, 1)
	select {
	case i.failBack <- load.FailBack{Within: ctx, Result: result}:
	case <-ctx.Done():
		return load.FailedBack{}, context.Cause(ctx)
	}
	return <-result, nil
}

// reconnect returns the means to replace the connections of a step. The first loss and the first
// replacement are events; the step counts all losses and replacements.
func (i *Issuer) reconnect() *load.Reconnect {
	var lost, opened sync.Once
	d := i.dialer
	return &load.Reconnect{
		Members: d.Members,
		Dial:    d.Member,
		Lost: func(member int, err error) {
			lost.Do(func() { i.opts.Event(results.EventConnectionLost, member, err.Error()) })
		},
		Opened: func(member int) { opened.Do(func() { i.opts.Event(results.EventReconnected, member, "") }) },
		Gone:   func() bool { return i.opts.Gone(d.Members) },

		FailBack: i.failBack,
	}
}

// processorTime returns this process's user and system time so far, or -1 if unknown.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// redirect is the recorder's sink: each step has its own behind it.
type redirect struct{ load.MemberSink }

// watched is a redirect whose requests are observed.
type watched struct {
	*redirect
	load.Watch
}

var (
	_ load.MemberSink = watched{}
	_ load.Observer   = watched{}
)
