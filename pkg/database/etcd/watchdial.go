package etcd

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

// DialWatches opens a connection and a stream.
func (o *Options) DialWatches(ctx context.Context, t database.Target, _ database.WatchKind, to database.Receiver) (database.Watches, error) {
	t.Prefer = max(t.Prefer, 0)
	conn, err := connect(t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd for watches: %w", err)
	}
	w := &watches{
		past: newPast(), conn: conn, kv: pb.NewKVClient(conn), prefix: []byte(t.KeyPrefix()), to: to, over: make(chan struct{}),
		created: map[int64]pending{}, progress: map[int64]int64{}, changed: make(chan struct{}),
	}
	if o.Transport == database.Lean && t.Auth == nil {
		err = w.openLean(ctx, t)
	} else {
		err = w.openGRPC(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dial etcd for watches: %w", answer.Classify(err, false)), conn.Close())
	}
	return w, nil
}
