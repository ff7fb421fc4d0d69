package zetcd

import (
	"context"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
)

var _ database.WatchDialer = (*Options)(nil)

// watchFacts returns the facts about the only kind of watch: the proxy does not know addWatch, and
// its events name no transaction. For each watch it has an etcd watch, which begins after the
// revision of the read and ends with its first event.
func watchFacts() []database.WatchFacts {
	f := zookeeper.OneShotWatches()
	f.How += "; the proxy begins and ends a watch of etcd for each"
	return []database.WatchFacts{f}
}

// DialWatches begins a session with a proxy; see [zookeeper.Protocol.DialWatches].
func (o *Options) DialWatches(ctx context.Context, t database.Target, kind database.WatchKind, to database.Receiver) (database.Watches, error) {
	w, err := o.protocol().DialWatches(ctx, t, kind, to)
	if err != nil {
		return nil, fmt.Errorf("zetcd: %w", err)
	}
	return w, nil
}
