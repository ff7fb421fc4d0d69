package control

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
)

// countBefore asks the database how many keys it holds before a load that creates
// some and deletes none.
func (c *conductor) countBefore(ctx context.Context) error {
	counter, ok := c.driver.(database.Counter)
	if !ok || !c.does(database.OpWrite) || c.does(database.OpDelete) {
		return nil
	}
	ctx, cancel := within(ctx, countTimeout)
	defer cancel()
	n, err := counter.CountKeys(ctx, c.target)
	if err != nil {
		return fmt.Errorf("count keys before the load: %w", err)
	}
	c.run.Keys = &results.Keys{Before: n}
	return nil
}

// countTimeout bounds a count: it reads every key of some databases.
const countTimeout = 60 * time.Second

// countAfter asks again. An interrupted load is counted too; a count that fails
// does not undo what was measured.
func (c *conductor) countAfter(ctx context.Context, rec *load.Recorder) {
	k := c.run.Keys
	if k == nil {
		return
	}
	surely, perhaps := rec.Created()
	k.MinAdded, k.MaxAdded = surely, surely+perhaps
	if c.db.Load.SameKey {
		k.MinAdded, k.MaxAdded = 0, 1
	}
	ctx, cancel := within(context.WithoutCancel(ctx), countTimeout)
	defer cancel()
	n, err := c.driver.(database.Counter).CountKeys(ctx, c.target)
	if err != nil {
		k.Error = err.Error()
		return
	}
	k.After = n
}
