package etcd

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/stream"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A watch over one stream with a small window delivers 100,000 events, each once and in order, from
// transactions and from single puts.
func TestWatchStream(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := startOne(t, "{unsafe_no_fsync: true, log_level: error}")
	ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
	defer cancel()
	conn, err := stream.Dial(ctx, stream.Config{Address: c.Target().Endpoints[0], Window: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const transactions, puts, singles = 980, 100, 2000
	const want = transactions*puts + singles
	ready, over := make(chan struct{}), make(chan error, 2)
	var events atomic.Int64
	var last int64
	s, err := conn.Open(pb.Watch_Watch_FullMethodName, func(_ time.Time, m []byte) error {
		var r pb.WatchResponse
		if err := proto.Unmarshal(m, &r); err != nil {
			return err
		}
		if r.Created {
			close(ready)
		}
		for _, e := range r.Events {
			n := events.Add(1) - 1
			if e.Kv.ModRevision < last || string(e.Kv.Key) != fmt.Sprintf("k%d", n) {
				return fmt.Errorf("event %d is of key %s at revision %d, after %d", n, e.Kv.Key, e.Kv.ModRevision, last)
			}
			last = e.Kv.ModRevision
		}
		if len(r.Events) > 0 && events.Load() == want {
			over <- nil
		}
		return nil
	}, func(err error) { over <- err })
	if err != nil {
		t.Fatal(err)
	}
	create := &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{Key: []byte("k"), RangeEnd: []byte("l")}}}
	message, err := proto.Marshal(create)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(message); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case err := <-over:
		t.Fatalf("the stream ended before the watch was there: %v", err)
	}
	bulk, err := c.Driver().(database.Bulker).DialBulk(ctx, c.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer bulk.Close()
	n := 0
	put := func(count int) {
		pairs := make([]database.Pair, count)
		for i := range pairs {
			pairs[i] = database.Pair{Key: fmt.Appendf(nil, "k%d", n), Value: make([]byte, 100)}
			n++
		}
		if err := bulk.PutAll(ctx, pairs); err != nil {
			t.Fatalf("put %d keys: %v", count, err)
		}
	}
	for range transactions {
		put(puts)
	}
	for range singles {
		put(1)
	}
	select {
	case err := <-over:
		if err != nil {
			t.Errorf("the watch ended after %d of %d events: %v", events.Load(), want, err)
		}
	case <-ctx.Done():
		t.Errorf("%d of %d events came in time", events.Load(), want)
	}
}
