package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/backoff"
	"github.com/coreos/dbtester/pkg/load/contenders"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// applier applies requests for a client: it makes their keys and values, calls the database client,
// and checks the replies.
type applier struct {
	client  *client
	key     []byte // for the request in hand; see prepare
	value   []byte
	kept    keyValue         // memory, nil until needed, also to check values in
	room    int              // see sharedRoom; 0 without a fiber
	payload int64            // key and value bytes that the request writes
	got     reply            // from the last call
	whole   []byte           // buffer for the value a swap must read
	answer  []byte           // buffer for the value a read returns
	guarded *guarded         // nil in a load without transactions
	turn    *contenders.Turn // the lock acquired by the last call, or nil
	// refused: no member accepted a connection for a single request; single is the back-off for
	// those connections.
	refused bool
	single  backoff.Pauses
}

// reply is a call result until it is checked.
type reply struct {
	read  bool // the reply must be checked
	value []byte
	by    requests.Writer // of the value
	keys  int             // of a range
	bytes int64           // of all values
}

// attempt applies the operation. A panic in the database client becomes the error and ends the
// step, because the client's state is then unknown.
func (a *applier) attempt(ctx context.Context, req requests.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = database.Panicked(p)
			a.client.step.abandon(err)
		}
	}()
	return a.call(ctx, req)
}

// guard prepares a transaction, and returns the time spent reading unknown key versions.
func (a *applier) guard(req requests.Request) int64 {
	op := a.client.step.work.Operation(req)
	if !op.Guarded() {
		return 0
	}
	a.payload += a.guarded.prepare(req, a.key, a.value)
	return a.guarded.expect(a.client, op)
}

// call applies the operation. It leaves the reply in a.got, which is checked after the
// clock was read.
func (a *applier) call(ctx context.Context, req requests.Request) error {
	op := a.client.step.work.Operation(req)
	if op == workload.OpWrite || op == workload.OpUpdate {
		return a.put(ctx, op)
	}
	return a.callOther(ctx, op, req)
}

// callOther applies an operation that is not a plain write. It is a separate function because
// otherwise every writing client would have its frame on the stack.
func (a *applier) callOther(ctx context.Context, op workload.Op, req requests.Request) (err error) {
	spec := &a.client.step.spec
	switch op {
	case workload.OpRead:
		value, err := a.read(ctx)
		return a.keep(value, err)
	case workload.OpReadOneshot:
		value, err := a.oneshot(ctx)
		return a.keep(value, err)
	case workload.OpDelete:
		return a.client.db.(database.Deleter).Delete(ctx, a.key)
	case workload.OpRange:
		if how := spec.RangeMode; how == "" || how == workload.RangeValues {
			a.got.keys, a.got.bytes, err = a.client.db.(database.Ranger).Range(ctx, a.key, spec.RangeLimit, spec.Read)
		} else if lister, ok := a.client.db.(database.Lister); ok {
			if a.got.keys, a.got.bytes, err = lister.List(ctx, how, a.key, spec.RangeLimit, spec.Read); errors.Is(err, database.ErrNoRangeMode) {
				a.client.step.abandon(fmt.Errorf("read a range: %w", err))
			}
		} else {
			err = database.NotApplied(database.ClassOther, fmt.Errorf("the client cannot read ranges in the mode %q", how))
		}
		a.got.read = err == nil
		return err
	case workload.OpSwap:
		return a.swap(ctx, req)
	case workload.OpTxn, workload.OpCreate:
		return a.guarded.send(ctx, a.client.db)
	case workload.OpGrant:
		return a.client.step.sessions.Grant(ctx, a.client.db.(database.Leaser))
	case workload.OpKeepAlive:
		return a.client.step.sessions.KeepAlive(ctx, a.client.db.(database.Leaser))
	case workload.OpRevoke:
		return a.client.step.sessions.Revoke(ctx, a.client.db.(database.Leaser))
	case workload.OpLock:
		a.client.member = unknownMember // a contender has its own connections
		a.turn, err = a.client.step.contenders.Acquire(ctx, req.Key, a.key, spec.Timeout)
		return err
	default:
		return database.NotApplied(database.ClassOther, fmt.Errorf("unknown operation %q", op))
	}
}

// mostAnswer bounds, in bytes, the buffer that a client keeps for values. The memory for larger
// values is garbage once they are checked.
const mostAnswer = 4 << 10

// read reads the key, into memory from the last value if the database client can.
func (a *applier) read(ctx context.Context) ([]byte, error) {
	mode := a.client.step.spec.Read
	if a.client.appends == nil {
		return a.client.db.Get(ctx, a.key, mode)
	}
	value, err := a.client.appends.AppendGet(ctx, a.answer[:0], a.key, mode)
	if err == nil && cap(value) <= mostAnswer {
		a.answer = value
	}
	return value, err
}

// keep stores one key's value in a.got.
func (a *applier) keep(value []byte, err error) error {
	if err == nil {
		a.got = reply{read: true, value: value, bytes: int64(len(value))}
	}
	return err
}

// swap reads a value, checks it and replaces it. A wrong value is never replaced.
func (a *applier) swap(ctx context.Context, req requests.Request) error {
	old, err := a.client.db.Get(ctx, a.key, a.client.step.spec.Read)
	a.client.returned()
	if err := a.keep(old, err); err != nil {
		return err
	}
	if a.whole, a.got.by, err = a.client.step.work.Check(a.whole, old, req); err != nil {
		return err
	}
	return a.client.db.(database.Swapper).Swap(ctx, a.key, old, a.value)
}

// check returns an error if the reply is wrong.
func (a *applier) check(req requests.Request) (err error) {
	work := a.client.step.work
	switch work.Operation(req) {
	case workload.OpRange:
		err = work.CheckRange(req, a.got.keys, a.got.bytes)
	case workload.OpRead, workload.OpReadOneshot:
		a.kept.value, a.got.by, err = work.Check(a.kept.value, a.got.value, req)
	}
	return err
}

// oneshot opens a connection, reads over it and closes it.
func (a *applier) oneshot(ctx context.Context) ([]byte, error) {
	client, err := a.client.step.Dial(ctx)
	a.client.returned()
	a.client.member = unknownMember
	if a.refused = err != nil; err != nil {
		return nil, database.NotApplied(database.ClassUnavailable, err)
	}
	a.single.Reset()
	a.client.member = memberOf(client, unknownMember)
	value, err := client.Get(ctx, a.key, a.client.step.spec.Read)
	return value, errors.Join(err, client.Close())
}

// put writes the key, with a hint whether the key is new.
func (a *applier) put(ctx context.Context, op workload.Op) error {
	switch {
	case a.client.hinted == nil:
		return a.client.db.Put(ctx, a.key, a.value)
	case op.Creates():
		return a.client.hinted.PutNew(ctx, a.key, a.value)
	}
	return a.client.hinted.PutExisting(ctx, a.key, a.value)
}

// giveUp holds the lock acquired by the last call, and gives it up. The request ended when the lock
// was acquired; the client is busy until the lock is given up. A panic in the database client ends
// the step.
func (a *applier) giveUp(ended int64) {
	turn := a.turn
	a.turn = nil
	defer func() {
		if p := recover(); p != nil {
			a.client.step.abandon(database.Panicked(p))
		}
		a.client.shard.busy(ended, a.client.now())
	}()
	turn.Keep()
	turn.Release(context.Background())
}

// rest waits for the back-off after the connection for a single request was refused.
func (a *applier) rest() {
	s := a.client.step
	a.client.shard.startWait(&a.client.flight, s.rec.clock.Now())
	defer func() { a.client.shard.endWait(&a.client.flight, s.rec.clock.Now()) }()
	over := make(chan struct{})
	timer := time.AfterFunc(a.single.Next(), func() { close(over) })
	defer timer.Stop()
	a.client.pauseFor(over, false)
	a.refused = false
}

// prepare computes a request and fills key and payload, and value if the operation sends one. A
// plain write by a fiber owns its key and value only until it waits: see [database.Continuer].
func (a *applier) prepare(number int64) requests.Request {
	work := a.client.step.work
	req := work.Request(number)
	if op := work.Operation(req); a.room > 0 && (op == workload.OpWrite || op == workload.OpUpdate) {
		a.key, a.value = briefly(a.client.fiber.Borrow(a.room), a.client.step, req)
	} else {
		a.kept.fill(a.client.step, req)
		a.key, a.value = a.kept.key, a.kept.value
	}
	a.payload = 0
	if work.Sends(req) {
		a.payload = int64(len(a.key) + len(a.value))
	}
	return req
}

// forget leaves the memory for the keys and values of the last request to the database client,
// which may keep them if it returned an error: see [database.Client].
func (a *applier) forget() {
	a.kept = keyValue{}
	if g := a.guarded; g != nil {
		g.puts, g.data = nil, nil
	}
}
