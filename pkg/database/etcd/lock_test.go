package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// The next older key is in front of a contender's key. If the newest key in a queue is another one,
// the session has ended.
func TestFront(t *testing.T) {
	key := func(name string, created int64) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: []byte(name), CreateRevision: created}
	}
	for _, tt := range []struct {
		name   string
		found  []*mvccpb.KeyValue
		before string
		lost   bool
	}{
		{"alone", []*mvccpb.KeyValue{key("q/b", 7)}, "", false},
		{"behind one", []*mvccpb.KeyValue{key("q/b", 7), key("q/a", 5)}, "q/a", false},
		{"gone", []*mvccpb.KeyValue{key("q/a", 5)}, "", true},
		{"an empty queue", nil, "", true},
	} {
		f, err := frontOf(&pb.RangeResponse{Kvs: tt.found}, []byte("q/b"))
		switch {
		case tt.lost != errors.Is(err, database.ErrNoSession):
			t.Errorf("%s: %v", tt.name, err)
		case !tt.lost && (f.created != 7 || string(f.before) != tt.before):
			t.Errorf("%s: %+v, want %q in front of 7", tt.name, f, tt.before)
		}
	}
}

// Names with "/" do not become parts in other queues.
func TestQueueName(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "a/b": "a%2Fb", "a%2Fb": "a%252Fb", "": ""} {
		if got := queueName([]byte(name)); got != want {
			t.Errorf("the queue of %q is called %q, want %q", name, got, want)
		}
	}
}

// A holder learns that its lease ended, and has lost the lock. The contender is then useless.
func TestLostLock(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := startOne(t, "")
	for _, recipe := range lockFacts().Names() {
		t.Run(recipe, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			locks, err := c.Driver().(*Options).DialLocks(ctx, c.Target(), database.LockOptions{Recipe: recipe, TTL: 4 * time.Second})
			if err != nil {
				t.Fatalf("dial locks: %v", err)
			}
			holder, err := locks.Contender(ctx)
			if err != nil {
				t.Fatalf("make a contender: %v", err)
			}
			defer holder.Close(ctx)
			held, err := holder.Acquire(ctx, []byte("lock"), nil)
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			sessions, err := c.Driver().(*Options).DialSessions(ctx, c.Target())
			if err != nil {
				t.Fatalf("dial sessions: %v", err)
			}
			defer sessions.Close()
			if err := (&lease{on: sessions.(*leases), id: leaseOf(holder)}).Release(ctx); err != nil {
				t.Fatalf("revoke the lease: %v", err)
			}
			select {
			case <-held.Lost:
			case <-ctx.Done():
				t.Fatal("the holder has not learned that its lease ended")
			}
			if err := holder.Release(ctx); !errors.Is(err, database.ErrLockLost) {
				t.Errorf("the release returned %v, want %v", err, database.ErrLockLost)
			}
			if _, err := holder.Acquire(ctx, []byte("lock"), nil); !errors.Is(err, database.ErrNoSession) {
				t.Errorf("acquiring once more returned %v, want %v", err, database.ErrNoSession)
			}
		})
	}
}

// A key that was in front, and is behind now because its contender has asked again, is not waited
// for.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	c := startOne(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	locks, err := c.Driver().(*Options).DialLocks(ctx, c.Target(), database.LockOptions{Recipe: database.LockDirect, TTL: 4 * time.Second})
	if err != nil {
		t.Fatalf("dial locks: %v", err)
	}
	one, err := locks.Contender(ctx)
	if err != nil {
		t.Fatalf("make a contender: %v", err)
	}
	defer one.Close(ctx)
	behind := one.(*contender)
	before := []byte("q/before")
	put := func(key []byte) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key}}}
	}
	remove := &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: before}}}
	var created int64
	for _, op := range []*pb.RequestOp{put(before), put([]byte("q/own")), remove, put(before)} {
		resp, err := behind.on.kv.Txn(ctx, &pb.TxnRequest{Success: []*pb.RequestOp{op}})
		if err != nil {
			t.Fatal(err)
		}
		if string(op.GetRequestPut().GetKey()) == "q/own" {
			created = resp.Header.GetRevision()
		}
	}
	if err := behind.gone(ctx, front{created: created, before: before}); err != nil {
		t.Errorf("waited for a key that is behind: %v", err)
	}
}

// leaseOf returns a contender's lease.
func leaseOf(c database.Contender) int64 {
	if direct, ok := c.(*contender); ok {
		return direct.lease.id
	}
	return c.(escaping).Contender.Lease()
}

func BenchmarkHandOvers(b *testing.B) { databasetest.BenchmarkHandOvers(b, suite()) }
