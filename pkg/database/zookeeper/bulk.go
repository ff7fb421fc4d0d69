package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Bulker = (*Options)(nil)

// mostCreates bounds the creates in a transaction: more gain nothing.
const mostCreates = 256

// BulkSize returns the number of creates that fit into a request of jute_max_buffer bytes.
func (o *Options) BulkSize(keySize, valueSize int) int {
	// An operation in a transaction has a 9-byte header. Half the buffer is left for ACLs and
	// escapes.
	size := putSize(openToAll, o.protocol().Keys.pathSize(keySize), valueSize) + 9
	return max(1, min(mostCreates, o.JuteMaxBuffer/2/size))
}

// bulk creates keys with library transactions.
type bulk struct {
	session *session
	keys    Keyspace
}

// DialBulk opens a session and creates missing parents of the keys.
func (o *Options) DialBulk(ctx context.Context, t database.Target) (database.Bulk, error) {
	p := o.protocol()
	p.Keys = p.Keys.below(t)
	t.MaxBytes = 0 // requests are as large as the server accepts
	s, err := p.dialStandard(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return &bulk{s, p.Keys}, nil
}

// PutAll creates all pairs in one transaction. If a key exists, it writes them one by one.
func (b *bulk) PutAll(ctx context.Context, pairs []database.Pair) error {
	ops := make([]any, len(pairs))
	for i, p := range pairs {
		// The library may still send a request that ctx has ended, and the caller reuses values.
		ops[i] = &zk.CreateRequest{Path: string(b.keys.appendPath(nil, p.Key)), Data: append([]byte{}, p.Value...), Acl: b.session.access}
	}
	err := b.session.do(ctx, func(c *zk.Conn) error { _, err := c.Multi(ops...); return err })
	if !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	for _, p := range pairs {
		path, value := b.keys.appendPath(nil, p.Key), append([]byte{}, p.Value...)
		err := b.session.add(ctx, path, value)
		if errors.Is(err, zk.ErrNodeExists) {
			err = b.session.set(ctx, path, value, anyVersion)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bulk) Close() error {
	b.session.close()
	return nil
}
