package fake

import (
	"context"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Bulker = (*Options)(nil)

// bulkSize is the number of keys in a request: odd, so the last request of a preload has fewer
// keys.
const bulkSize = 37

// BulkSize returns bulkSize for all sizes.
func (o *Options) BulkSize(int, int) int { return bulkSize }

// bulk puts one key after another.
type bulk struct{ client database.Client }

// DialBulk opens a connection as Dial does.
func (o *Options) DialBulk(ctx context.Context, t database.Target) (database.Bulk, error) {
	c, err := o.Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return &bulk{c}, nil
}

// PutAll puts one key after another.
func (b *bulk) PutAll(ctx context.Context, pairs []database.Pair) error {
	for _, p := range pairs {
		if err := b.client.Put(ctx, p.Key, p.Value); err != nil {
			return err
		}
	}
	return nil
}

func (b *bulk) Close() error { return b.client.Close() }
