package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

const (
	// bulkTimeout is the least deadline for a request with many keys, or for reading their
	// versions.
	bulkTimeout = time.Minute
	// bulkTries is the number of times that a request with many keys is sent before its error ends
	// the preload.
	bulkTries = 3
)

// PreloadBulk writes the same keys and values as [Preload]. A request has batch keys, and each
// connection sends one request at a time. One part among several writes its share, whose keys
// differ from its share in Preload. Progress is called from several goroutines with the keys
// written so far; it may be nil.
func PreloadBulk(ctx context.Context, spec Spec, batch int, conns []database.Bulk, progress func(keys int64)) error {
	p, err := newBulkPreload(spec, batch, progress)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	errs := make([]error, len(conns))
	for n, conn := range conns {
		workers.Go(func() {
			if errs[n] = p.write(ctx, conn); errs[n] != nil {
				cancel(errs[n])
			}
		})
	}
	workers.Wait()
	if own := p.own(); context.Cause(ctx) != nil && p.written.Load() < own {
		return fmt.Errorf("write %d keys before the load: %d were written: %w", own, p.written.Load(), context.Cause(ctx))
	}
	return nil
}

// bulkPreload is shared by the connections.
type bulkPreload struct {
	spec     Spec // a load that writes the keys
	work     *requests.Sequence
	keys     int64 // over all parts
	batch    int64
	next     atomic.Int64 // first batch in this part not yet taken by a connection
	written  atomic.Int64
	progress func(int64)
}

func newBulkPreload(spec Spec, batch int, progress func(int64)) (*bulkPreload, error) {
	if err := spec.Part.Check(); err != nil {
		return nil, fmt.Errorf("write keys before the load: %w", err)
	}
	p := &bulkPreload{keys: spec.Existing(), batch: int64(max(batch, 1)), progress: progress}
	spec.Operation, spec.Mix, spec.Keys, spec.Load.Preload, spec.FirstKey = workload.OpWrite, nil, 0, 0, p.keys
	p.spec = spec
	var err error
	p.work, err = spec.sequence(1)
	return p, err
}

// own returns the key count for this part.
func (p *bulkPreload) own() int64 {
	batches := (p.keys + p.batch - 1) / p.batch
	n := p.spec.Part.Count(batches)
	own := n * p.batch
	if n > 0 && p.spec.Part.Number(n-1) == batches-1 {
		own -= batches*p.batch - p.keys // the last batch has fewer
	}
	return own
}

// write takes key ranges and writes them until no more are left.
func (p *bulkPreload) write(ctx context.Context, conn database.Bulk) error {
	pairs := make([]database.Pair, 0, p.batch)
	for {
		first := p.spec.Part.Number(p.next.Add(1)-1) * p.batch
		end := min(first+p.batch, p.keys)
		if first >= end {
			return nil
		}
		pairs = pairs[:end-first]
		for i := range pairs {
			// Requests -keys to -1 write keys 0 to keys-1, as in Preload.
			r := p.work.Request(first + int64(i) - p.keys)
			pairs[i].Key = requests.AppendKey(pairs[i].Key[:0], &p.spec.Load, r.Key)
			pairs[i].Value = p.work.AppendValue(pairs[i].Value[:0], r)
		}
		if err := p.put(ctx, conn, pairs); err != nil {
			return fmt.Errorf("keys %d to %d: %w", first, end-1, err)
		}
		if n := p.written.Add(end - first); p.progress != nil {
			p.progress(n)
		}
	}
}

// put writes pairs, and retries after an error: a repeated write gives the same result.
func (p *bulkPreload) put(ctx context.Context, conn database.Bulk, pairs []database.Pair) (err error) {
	for range bulkTries {
		own, cancel := context.WithTimeout(ctx, max(bulkTimeout, p.spec.Timeout))
		err = putAll(own, conn, pairs)
		cancel()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// putAll writes pairs once. A panic in the database client becomes the error.
func putAll(ctx context.Context, conn database.Bulk, pairs []database.Pair) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = database.Panicked(p)
		}
	}()
	return conn.PutAll(ctx, pairs)
}
