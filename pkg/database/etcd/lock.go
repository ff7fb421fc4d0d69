package etcd

import (
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/library"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.LockDialer = (*Options)(nil)
	_ database.Locks      = (*contenders)(nil)
	_ database.Contender  = (*contender)(nil)
)

// lockFacts returns the facts about locks. Each contender has a key attached to its lease, and the
// key that was created first holds the lock. A member serves watches that begin at a past revision
// every 100 ms, and all other watches at once.
func lockFacts() *database.LockFacts {
	const fence = "the create revision of the contender's key"
	return &database.LockFacts{
		What: "key with a lease",
		Recipes: []database.LockRecipe{
			{
				Name: database.LockLibrary, Library: library.Recipe, Queue: true, Fence: fence,
				Waits: "a watch of the key before, from the revision that it was last seen at: members serve that by a tick of 100 ms",
			},
			{
				Name: database.LockDirect, Queue: true, Places: true, Fence: fence,
				Waits: "a watch of the key before, from its creation on, and a read once it is there",
			},
		},
		Session: *sessionFacts(), Renews: renewals,
	}
}

// renewals returns the longest interval between renewals: every half second the library checks which
// leases are due, after a third of their TTL.
func renewals(ttl time.Duration) time.Duration { return ttl/3 + 500*time.Millisecond }

// contenders makes contenders, each with its own connections to all members.
type contenders struct {
	on     *Options
	target database.Target
	ttl    time.Duration
	recipe string
}

// DialLocks opens no connection: each contender has its own.
func (o *Options) DialLocks(_ context.Context, t database.Target, lo database.LockOptions) (database.Locks, error) {
	f := lockFacts()
	recipe, err := f.Recipe(lo.Recipe)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dial etcd: %w", err)
	case lo.Delay != 0:
		return nil, errors.New("dial etcd: locks have no delay")
	}
	return &contenders{on: o, target: t, ttl: f.Session.Granted(lo.TTL), recipe: recipe.Name}, nil
}

// Contender begins a session.
func (c *contenders) Contender(ctx context.Context) (database.Contender, error) {
	prefix := c.target.KeyPrefix() + database.LockKeys
	if c.recipe == database.LockLibrary {
		client, err := dialLibrary(ctx, c.target, 0)
		if err != nil {
			return nil, fmt.Errorf("dial etcd: %w%s", err, hint(c.target, err))
		}
		by, err := client.Contend(ctx, c.ttl, prefix)
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return escaping{by}, nil
	}
	sessions, err := c.on.DialSessions(ctx, c.target)
	if err != nil {
		return nil, err
	}
	granted, err := sessions.Grant(ctx, c.ttl)
	if err != nil {
		return nil, errors.Join(err, sessions.Close())
	}
	lease := granted.(*lease)
	return &contender{
		on: lease.on, lease: lease, prefix: prefix,
		renewer: database.Renew(lease.ttl/3, lease.ttl, lease.Keep),
	}, nil
}

// Close does nothing: there is no connection, and locks leave no remains.
func (c *contenders) Close() error { return nil }

// queueName escapes "/" in the name of a lock: "/" separates it from contender keys.
func queueName(name []byte) string { return neturl.PathEscape(string(name)) }

// escaping is the library contender with escaped names.
type escaping struct{ *library.Contender }

// Acquire implements [database.Contender].
func (e escaping) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	return e.Contender.Acquire(ctx, []byte(queueName(name)), placed)
}

// contender is a lease, and the key it holds.
type contender struct {
	on        *leases
	lease     *lease
	renewer   *database.Renewer
	prefix    string
	key       []byte // may be nil
	fence     int64  // the create revision of the key
	spent     bool   // a key may be left
	abandoned bool
}

const (
	// cleanWithin bounds the time to remove the key of an abandoned wait.
	cleanWithin = 5 * time.Second
	// againAfter is the pause before a lost member is replaced by another.
	againAfter = 100 * time.Millisecond
)

// Acquire creates a key and waits until the lock has no older key.
func (c *contender) Acquire(ctx context.Context, name []byte, placed func()) (database.Held, error) {
	if c.spent {
		return database.Held{}, database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	queue := c.prefix + queueName(name) + "/"
	key := fmt.Appendf(nil, "%s%x", queue, c.lease.id)
	fence, err := c.wait(ctx, queue, key, placed)
	at := time.Now()
	if err != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
		defer cancel()
		if _, left := c.on.kv.DeleteRange(within, &pb.DeleteRangeRequest{Key: key}); left != nil {
			c.spent = true
		}
		return database.Held{}, err
	}
	c.key, c.fence = key, fence
	return database.Held{At: at, Fence: fence, Lost: c.renewer.Lost()}, nil
}

// wait creates the key in the queue, and returns its create revision when it is the oldest.
func (c *contender) wait(ctx context.Context, queue string, key []byte, placed func()) (fence int64, err error) {
	front, err := c.enter(ctx, queue, key)
	if err != nil {
		return 0, err
	}
	fence = front.created
	if placed != nil {
		placed()
	}
	for front.before != nil {
		if err = c.gone(ctx, front); err == nil {
			front, err = c.look(ctx, queue, key, fence)
		}
		switch _, class := database.Classify(err); {
		case err == nil:
		case ctx.Err() != nil || class != database.ClassConnection && class != database.ClassUnavailable && class != database.ClassLeaderChange:
			return 0, err
		case !sleep.For(ctx, againAfter):
			return 0, answer.Classify(ctx.Err(), true)
		}
	}
	return fence, nil
}

// front describes the queue in front of a key: when the key was created, and the previous key, if
// any.
type front struct {
	created int64
	before  []byte
}

// enter creates the key, unless an abandoned wait left it, and returns its front.
func (c *contender) enter(ctx context.Context, queue string, key []byte) (front, error) {
	put := &pb.PutRequest{Key: key, Lease: c.lease.id}
	resp, err := c.on.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{created(key, 0)},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}, rangeOp(lastOf(queue, 0))},
		Failure: []*pb.RequestOp{rangeOp(&pb.RangeRequest{Key: key, KeysOnly: true})},
	})
	if err != nil {
		return front{}, c.lease.classed(err)
	}
	if len(resp.Responses) == 0 {
		return front{}, database.MaybeApplied(database.ClassOther, errors.New("a transaction was answered without its results"))
	}
	f, err := frontOf(resp.Responses[len(resp.Responses)-1].GetResponseRange(), key)
	if err == nil && !resp.Succeeded {
		return c.look(ctx, queue, key, f.created)
	}
	return f, err
}

func rangeOp(r *pb.RangeRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
}

// look returns the front of the key.
func (c *contender) look(ctx context.Context, queue string, key []byte, created int64) (front, error) {
	resp, err := c.on.kv.Range(ctx, lastOf(queue, created))
	if err != nil {
		return front{}, answer.Classify(err, true)
	}
	return frontOf(resp, key)
}

// lastOf requests the two newest keys of a queue, up to a create revision unless that is 0.
func lastOf(queue string, created int64) *pb.RangeRequest {
	return &pb.RangeRequest{
		Key: []byte(queue), RangeEnd: []byte(behind(queue)), MaxCreateRevision: created, Limit: 2, KeysOnly: true,
		SortTarget: pb.RangeRequest_CREATE, SortOrder: pb.RangeRequest_DESCEND,
	}
}

// frontOf returns the front of the newest key, which must be the contender's: otherwise its session
// has ended.
func frontOf(found *pb.RangeResponse, key []byte) (front, error) {
	keys := found.GetKvs()
	if len(keys) == 0 || string(keys[0].Key) != string(key) {
		return front{}, database.NotApplied(database.ClassNotFound, database.ErrNoSession)
	}
	f := front{created: keys[0].CreateRevision}
	if len(keys) > 1 {
		f.before = keys[1].Key
	}
	return f, nil
}

// gone waits until the key in front is deleted, or may be.
//
// The watch begins when the member creates it, not at a past revision, so the member reports the
// deletion at once, whatever else was written meanwhile. A deletion before the watch is found by a
// read, also if the contender in front has asked again since: its new key is behind this one.
func (c *contender) gone(ctx context.Context, f front) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.on.watch.Watch(watching)
	if err != nil {
		return answer.Classify(err, true)
	}
	create := &pb.WatchCreateRequest{Key: f.before, Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT}}
	if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}); err != nil {
		return answer.Classify(err, true)
	}
	for {
		resp, err := stream.Recv()
		switch {
		case err != nil:
			return answer.Classify(err, true)
		case resp.Canceled && resp.CompactRevision == 0: // for example, the member does not know the token yet
			if !sleep.For(ctx, againAfter) {
				return answer.Classify(ctx.Err(), true)
			}
			return nil
		case resp.Canceled:
			return nil
		case deletes(resp.Events):
			return nil
		case resp.Created:
			there, err := c.on.kv.Range(ctx, &pb.RangeRequest{Key: f.before, MaxCreateRevision: f.created, KeysOnly: true})
			if err != nil {
				return answer.Classify(err, true)
			}
			if len(there.Kvs) == 0 {
				return nil
			}
		}
	}
}

func deletes(events []*mvccpb.Event) bool {
	for _, e := range events {
		if e.Type == mvccpb.DELETE {
			return true
		}
	}
	return false
}

// Release deletes the key if it still holds the lock: a late request must not delete the next key
// of the same name.
func (c *contender) Release(ctx context.Context) error {
	remove := &pb.DeleteRangeRequest{Key: c.key}
	resp, err := c.on.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{created(c.key, c.fence)},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: remove}}},
	})
	c.key = nil
	switch {
	case err != nil:
		c.spent = true
		return answer.Classify(err, true)
	case !resp.Succeeded:
		return database.NotApplied(database.ClassNotFound, database.ErrLockLost)
	}
	return nil
}

// Abandon ends the renewals.
func (c *contender) Abandon() {
	c.renewer.Stop()
	c.abandoned = true
}

// Close revokes the lease, which deletes its key.
func (c *contender) Close(ctx context.Context) error {
	c.renewer.Stop()
	var err error
	if !c.abandoned {
		err = c.lease.Release(ctx)
	}
	return errors.Join(err, c.on.Close())
}
