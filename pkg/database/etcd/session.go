package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

var (
	_ database.SessionDialer = (*Options)(nil)
	_ database.SessionRuler  = (*Options)(nil)
	_ database.Sessions      = (*leases)(nil)
	_ database.Session       = (*lease)(nil)
	_ database.Taker         = (*lease)(nil)
)

// expiriesPerSecond is the number of leases that a leader ends per second; no option changes it.
// The leader ends leases every half second.
const expiriesPerSecond = 1000

// sessionFacts returns the facts about leases. A TTL has whole seconds, and at least one and a half
// election timeouts, which are one second long.
func sessionFacts() *database.SessionFacts {
	return &database.SessionFacts{
		What: "lease", Least: 2 * time.Second, Step: time.Second,
		Rule: "after its TTL, by half-second ticks, at most 1000 leases a second and 16 at a time, each by a write; a new leader begins every TTL again",
		Ends: func(ttl time.Duration, n int) (earliest, latest time.Duration) {
			return ttl, ttl + 500*time.Millisecond + time.Duration(n)*time.Second/expiriesPerSecond
		},
		Renewal: "LeaseKeepAlive, over one stream", Watch: "a watch of the keys", Takes: true,
		Requests: "LeaseGrant, LeaseRevoke, and LeaseKeepAlive with one message in a stream of its own, as KeepAliveOnce of etcd's client",
	}
}

// SessionFacts names the transport of renewals, unless it is the default.
func (o *Options) SessionFacts() database.SessionFacts {
	facts := *sessionFacts()
	if o.Transport != database.Lean {
		facts.Renewal += " of grpc-go"
	}
	return facts
}

// leases grants leases over one grpc-go connection.
type leases struct {
	conn   *grpc.ClientConn
	kv     pb.KVClient
	lease  pb.LeaseClient
	watch  pb.WatchClient
	prefix string
	renews *leaseRenewals
}

// DialSessions opens one connection. The first renewal opens another one if the transport is lean.
func (o *Options) DialSessions(ctx context.Context, t database.Target) (database.Sessions, error) {
	conn, err := connect(t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	lease := pb.NewLeaseClient(conn)
	open := openStandard(lease)
	if o.Transport == database.Lean {
		open, err = openLean(t, tokenOf(conn, t.Auth))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err == nil {
		_, err = pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial etcd: %w", answer.Classify(err, false)), conn.Close())
	}
	return &leases{
		conn: conn, kv: pb.NewKVClient(conn), lease: lease, watch: pb.NewWatchClient(conn),
		prefix: t.KeyPrefix() + database.SessionKeys, renews: newRenewals(open),
	}, nil
}

// Grant begins a lease.
func (l *leases) Grant(ctx context.Context, ttl time.Duration) (database.Session, error) {
	resp, err := l.lease.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: leaseSeconds(ttl)})
	switch {
	case err != nil:
		return nil, answer.Classify(err, true)
	case resp.Error != "":
		return nil, database.NotApplied(database.ClassOther, errors.New(resp.Error))
	}
	return &lease{on: l, id: resp.ID, ttl: time.Duration(resp.TTL) * time.Second}, nil
}

// Intervals of a watch.
const (
	// watchAsked is the interval between requests for the progress of a watch.
	watchAsked = 250 * time.Millisecond
	// watchAgain is the pause before an ended stream is reopened, at another member.
	watchAgain = 50 * time.Millisecond
)

// watching is a watch over successive streams. Each stream continues after the last revision the
// previous one has seen, so no change is missed.
type watching struct {
	on      *leases
	ready   func() // nil after it was called
	changed func(database.Change)
	next    int64     // revision; 0 before the first stream
	alive   time.Time // when all changes before next were known
}

// Watch watches for new and deleted keys.
func (l *leases) Watch(ctx context.Context, ready func(), changed func(database.Change)) error {
	w := &watching{on: l, ready: ready, changed: changed}
	for {
		err := w.stream(ctx)
		switch outcome, class := database.Classify(err); {
		case ctx.Err() != nil:
			return nil
		case w.ready != nil, outcome == workload.Failed && class != database.ClassUnavailable:
			return fmt.Errorf("watch: %w", err)
		case !sleep.For(ctx, watchAgain):
			return nil
		}
	}
}

// stream watches over one stream until it ends. Its error is classified: a request that was surely
// not applied would fail later, too.
func (w *watching) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.on.watch.Watch(ctx)
	if err != nil {
		return answer.Classify(err, true)
	}
	prefix := w.on.prefix
	create := &pb.WatchCreateRequest{Key: []byte(prefix), RangeEnd: []byte(behind(prefix)), StartRevision: w.next}
	if err := stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}); err != nil {
		return answer.Classify(err, true)
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	behindUntil := int64(0) // changes up to this revision happened while there was no stream
	for {
		resp, err := stream.Recv()
		at := time.Now()
		switch {
		case err != nil:
			return answer.Classify(err, true)
		case resp.Canceled:
			return database.NotApplied(database.ClassOther, fmt.Errorf("etcd cancelled the watch: %s", resp.CancelReason))
		case resp.Created:
			if w.next == 0 {
				w.next, w.alive = resp.Header.Revision+1, at
			}
			behindUntil = resp.Header.Revision
			if w.ready != nil {
				w.ready()
				w.ready = nil
			}
			asking.Go(func() { askProgress(ctx, stream) })
			continue
		}
		w.take(resp, at, behindUntil)
	}
}

// take reports the changes in an answer.
func (w *watching) take(resp *pb.WatchResponse, at time.Time, behindUntil int64) {
	for _, e := range resp.Events {
		w.next = max(w.next, e.Kv.ModRevision+1)
		name, ours := strings.CutPrefix(string(e.Kv.Key), w.on.prefix)
		appears := e.Type == mvccpb.PUT && e.Kv.CreateRevision == e.Kv.ModRevision
		if !ours || !appears && e.Type != mvccpb.DELETE {
			continue
		}
		c := database.Change{Key: []byte(name), New: appears, At: at}
		if e.Kv.ModRevision <= behindUntil {
			c.Since = w.alive
		}
		w.changed(c)
	}
	if len(resp.Events) == 0 { // progress: all earlier events have arrived
		w.next = max(w.next, resp.Header.Revision+1)
	}
	if w.next > behindUntil {
		w.alive = at
	}
}

// askProgress requests the progress of a watch until ctx or the stream ends.
func askProgress(ctx context.Context, stream pb.Watch_WatchClient) {
	for sleep.For(ctx, watchAsked) {
		if stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}) != nil {
			return
		}
	}
}

// Close closes the connections.
func (l *leases) Close() error {
	l.renews.close()
	return l.conn.Close()
}

// lease implements [database.Session].
type lease struct {
	on  *leases
	id  int64
	ttl time.Duration
}

func (l *lease) TTL() time.Duration { return l.ttl }

func (l *lease) Attach(ctx context.Context, key, value []byte) error {
	_, err := l.on.kv.Put(ctx, &pb.PutRequest{Key: append([]byte(l.on.prefix), key...), Value: value, Lease: l.id})
	return l.classed(err)
}

// Take creates a key unless there is one.
func (l *lease) Take(ctx context.Context, key, value []byte) (bool, error) {
	name := append([]byte(l.on.prefix), key...)
	put := &pb.PutRequest{Key: name, Value: value, Lease: l.id}
	resp, err := l.on.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{created(name, 0)}, Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}},
	})
	if err != nil {
		return false, l.classed(err)
	}
	return resp.Succeeded, nil
}

func (l *lease) Keep(ctx context.Context) error {
	ttl, err := l.on.renews.keep(ctx, l.id)
	if err != nil {
		return err
	}
	return answer.Renewed(ttl)
}

// Abandon does nothing: a lease ends unless it is renewed.
func (l *lease) Abandon() {}

func (l *lease) Release(ctx context.Context) error {
	_, err := l.on.lease.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: l.id})
	if err = l.classed(err); errors.Is(err, database.ErrNoSession) {
		return nil
	}
	return err
}

// classed classifies an error from a request for the lease.
func (l *lease) classed(err error) error { return answer.WithoutLease(answer.Classify(err, true)) }
