package control

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// countBefore asks the database how many keys it holds, before a load that creates
// keys and deletes none.
func countBefore(ctx context.Context, r *run) error {
	counter, ok := r.driver.(database.Counter)
	if !ok || !r.db.Load.Any(workload.Op.Creates) || r.db.Load.Any(workload.Op.Deletes) {
		return nil
	}
	ctx, cancel := fleet.Within(ctx, countTimeout)
	defer cancel()
	n, err := counter.CountKeys(ctx, r.target)
	if err != nil {
		return fmt.Errorf("count keys before the load: %w", err)
	}
	r.record.Keys = &results.Keys{Before: n}
	return nil
}

// countTimeout bounds a count: it reads every key of some databases.
const countTimeout = 60 * time.Second

// countAfter asks again, also after an interrupt. A count that fails is recorded and
// leaves the measurements valid.
func countAfter(ctx context.Context, r *run, rec *load.Recorder) {
	k := r.record.Keys
	if k == nil {
		return
	}
	surely, perhaps := rec.Created()
	k.MinAdded, k.MaxAdded = surely, surely+perhaps
	if r.db.Load.SameKey {
		k.MinAdded, k.MaxAdded = 0, 1
	}
	ctx, cancel := fleet.Within(context.WithoutCancel(ctx), countTimeout)
	defer cancel()
	n, err := r.driver.(database.Counter).CountKeys(ctx, r.target)
	if err != nil {
		k.Error = err.Error()
		return
	}
	k.After = n
}

// numberKeys sets the number of the first key that the load creates on a cluster that
// ran before: above all numbers in use. Earlier runs left gaps where writes failed, so
// the count of keys is no such number.
func numberKeys(ctx context.Context, r *run, spec *load.Spec) error {
	l := &r.db.Load
	if r.db.Steps.Start || l.SameKey || !l.Any(workload.Op.Creates) && !l.Any(workload.Op.Ranges) {
		return nil
	}
	finder, ok := r.driver.(database.KeyFinder)
	if !ok {
		return fmt.Errorf("a load that creates keys on a running cluster needs to know the keys in use, and the driver of %s can't find the highest", r.db.Name)
	}
	ctx, cancel := fleet.Within(ctx, countTimeout)
	defer cancel()
	highest, err := finder.HighestKey(ctx, r.target, l.KeySize)
	if err != nil {
		return fmt.Errorf("find the key numbers in use on a running cluster: %w", err)
	}
	if spec.FirstKey, err = firstKey(l, highest); err != nil {
		return err
	}
	r.record.Load.FirstKey = spec.FirstKey
	return nil
}

// firstKey returns the number of the first key that a load creates above highest. All
// of its keys must have the size that the load asks for.
func firstKey(l *workload.Load, highest int64) (int64, error) {
	if highest == math.MaxInt64 {
		return 0, fmt.Errorf("the cluster has the key %d, and there is no higher number: delete it", highest)
	}
	first := max(l.Keys, highest+1)
	if !l.Any(workload.Op.Creates) {
		return first, nil
	}
	// A load that is bounded by its duration alone creates at least one.
	created := max(l.KeyNumbers(l.Requests)-l.Keys, 1)
	if last := first + created - 1; last < first || len(strconv.FormatInt(last, 10)) > l.KeySize {
		return 0, fmt.Errorf("the cluster has keys up to number %d, and the load may create %d more: keys of %d bytes have no room for these numbers; use a larger key_size or an empty cluster",
			highest, created, l.KeySize)
	}
	return first, nil
}

// keysTimeout bounds the wait for members that are behind.
const keysTimeout = 30 * time.Second

// awaitKeys waits until every member that the load targets has the keys written
// before it. Only stale reads can miss them.
func awaitKeys(ctx context.Context, d *dialer, spec load.Spec, clients int) error {
	if spec.Read != workload.ReadStale {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keysTimeout, fmt.Errorf("not there after %v", keysTimeout))
	defer cancel()
	members, err := d.targets()
	if err != nil {
		return err
	}
	conns, _, err := d.dial(ctx, len(members)) // one to each
	if err != nil {
		return err
	}
	return errors.Join(load.AwaitKeys(ctx, spec, clients, conns), closeAll(conns))
}
