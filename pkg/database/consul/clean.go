package consul

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

// cleanBatch is the largest number of operations in a transaction of Consul.
const cleanBatch = 64

// Clean deletes keys below the prefix, in transactions of at most cleanBatch keys, through the
// first member that answers.
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	return o.members(t).clean(ctx, cleanBatch, which, removed)
}

// CleanOneByOne cleans like Clean, one request per key, for proxies that accept no deletes in
// transactions.
func (o *Options) CleanOneByOne(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	return o.members(t).clean(ctx, 1, which, removed)
}

// clean deletes keys below the prefix, at most most in one request.
func (m members) clean(ctx context.Context, most int, which database.Removable, removed func(int64)) error {
	if m.target.Prefix == "" {
		return errors.New("clean consul: there is no prefix")
	}
	err := m.askFirst(ctx, func(member int, c *client) error { return m.cleanBy(ctx, member, c, most, which, removed) })
	if err != nil {
		return fmt.Errorf("clean consul: %w", err)
	}
	return nil
}

// cleanBy deletes keys through one member while it reads their names from a listing.
func (m members) cleanBy(ctx context.Context, member int, lists *client, most int, which database.Removable, removed func(int64)) error {
	deletes, err := m.open(member)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sum := int64(0)
	var batch []string
	flush := func() {
		if len(batch) == 0 || ctx.Err() != nil {
			return
		}
		if err := deletes.deleteAll(ctx, batch); err != nil {
			cancel(err) // ends the listing
			return
		}
		sum += int64(len(batch))
		batch = batch[:0]
		removed(sum)
	}
	prefix := len(m.target.KeyPrefix()) // the listing has only names with it
	_, err = lists.list(ctx, m.target, func(name []byte) {
		if !which.Has(name[prefix:]) {
			return
		}
		if batch = append(batch, unescaped(name)); len(batch) >= most {
			flush()
		}
	})
	flush()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return errors.Join(err, deletes.Close())
}

// deleteAll deletes keys by their stored names, several in one transaction.
func (c *client) deleteAll(ctx context.Context, names []string) error {
	if len(names) == 1 {
		_, err := c.kv.Delete(names[0], (&api.WriteOptions{}).WithContext(ctx))
		return classify(ctx, err)
	}
	ops := make(api.KVTxnOps, len(names))
	for i, name := range names {
		ops[i] = &api.KVTxnOp{Verb: api.KVDelete, Key: name}
	}
	done, resp, _, err := c.kv.Txn(ops, (&api.QueryOptions{}).WithContext(ctx))
	switch {
	case err != nil:
		return classify(ctx, err)
	case !done:
		return fmt.Errorf("the transaction was rolled back: %v", resp.Errors)
	}
	return nil
}
