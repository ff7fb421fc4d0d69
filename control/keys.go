package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	"github.com/coreos/dbtester/control/issue"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// prefixOf returns the name below which the keys lie, "" on a cluster started by the run.
func prefixOf(db *config.Database, driver database.Driver, runID string) string {
	if _, ok := driver.(database.Cleaner); !ok || len(db.Endpoints) == 0 {
		return ""
	}
	return cmp.Or(db.Prefix, db.DefaultPrefix(runID))
}

// enterShared records that the load shares a cluster and claims its prefix.
func (r *run) enterShared(ctx context.Context) (err error) {
	l, who := &r.db.Load, r.claimant
	who.Reuse = r.db.Reuse
	if existing := l.Existing(); existing > 0 || l.SameKey {
		who.Keys = workload.KeySpans{{Size: l.KeySize, First: 0, End: max(existing, 1)}}
	}
	if r.hold, err = shared.Take(ctx, r.driver, r.target, who, r.journal.say); err != nil {
		return err
	}
	r.record.Shared = &results.Shared{Prefix: r.target.Prefix, Left: -1}
	r.journal.step("all keys lie below %s/", r.target.Prefix)
	return nil
}

// coverCreated adds the keys that the load creates to the claim, before the load creates the first:
// all numbers from there on, until leaveShared knows their number.
func (r *run) coverCreated(ctx context.Context, spec load.Spec) error {
	if r.hold == nil || spec.SameKey || !spec.Any(workload.Op.Creates) {
		return nil
	}
	return r.hold.Cover(ctx, workload.KeySpan{Size: spec.KeySize, First: max(spec.FirstKey, spec.Keys), End: math.MaxInt64})
}

// writtenAtMost returns a function that removes key numbers from the claim that the load certainly
// did not reach.
func (r *run) writtenAtMost(ctx context.Context) func(workload.KeySpans) workload.KeySpans {
	l, end := &r.db.Load, int64(math.MaxInt64)
	switch finder, ok := r.driver.(database.KeyFinder); {
	case r.record.Totals == nil:
	case l.SameKey, !l.Any(workload.Op.Creates): // an open span belongs to an earlier, killed run
	case r.experiment.Search() == nil && !r.record.ByGenerators():
		first := max(r.record.Load.FirstKey, l.Keys)
		end = first + max(l.KeyNumbers(r.record.Totals.Offered)-max(l.Keys, l.Preload), 0)
	case ok: // search windows are not in the totals, and parts use numbers unevenly
		if highest, err := finder.HighestKey(ctx, r.target, l.KeySize); err == nil && highest >= 0 {
			end = highest + 1
		}
	}
	return func(keys workload.KeySpans) workload.KeySpans {
		for i := range keys {
			if keys[i].Size == l.KeySize && keys[i].End == math.MaxInt64 {
				keys[i].End = max(end, keys[i].First)
			}
		}
		return keys
	}
}

// leaveShared removes the claimed keys, if the experiment asks for it, and marks runs that leave
// keys.
func (r *run) leaveShared(ctx context.Context) error {
	s := r.record.Shared
	if s == nil || r.hold == nil {
		return nil // this run does not hold the prefix
	}
	if err := r.leaveKeys(ctx, s); err != nil {
		r.journal.say("give the prefix %s free: %v", s.Prefix, err)
	}
	if s.Left == 0 && (s.Cleanup == nil || s.Cleanup.Error == "") {
		return nil
	}
	values, words := mark.Values{}, mark.Words{"prefix": s.Prefix}
	if s.Left >= 0 {
		values["keys"] = float64(s.Left)
	}
	if s.Cleanup != nil && s.Cleanup.Error != "" {
		words["why"] = plaintext.Joined(s.Cleanup.Error)
	}
	r.record.Mark(mark.KeysLeft, values, words)
	r.journal.say("%s", mark.Text(mark.KeysLeft, values, words))
	return nil
}

// leaveKeys removes or counts the claimed keys, as the experiment asks, and then gives up the
// claim.
func (r *run) leaveKeys(ctx context.Context, s *results.Shared) error {
	r.hold.Narrow(r.writtenAtMost(ctx))
	if r.db.Cleanup {
		r.journal.event("cleanup", -1, s.Prefix)
		done, left := shared.CleanHeld(ctx, r.hold, r.journal.step)
		s.Cleanup, s.Left = &done, left
		r.journal.say("removed %d keys below %s/", done.Removed, s.Prefix)
		return nil
	}
	left, err := r.hold.Count(ctx)
	s.Left = left
	return errors.Join(err, r.hold.End(ctx))
}

// countBefore counts the keys before loads that create keys without deleting any.
func countBefore(ctx context.Context, r *run) error {
	counter, ok := r.driver.(database.Counter)
	if !ok || !r.db.Load.Any(workload.Op.Creates) || r.db.Load.Any(workload.Op.Deletes) {
		return nil
	}
	ctx, cancel := remote.Within(ctx, countWithin(&r.db.Load))
	defer cancel()
	n, err := counter.CountKeys(ctx, r.target)
	if err != nil {
		return fmt.Errorf("count keys before the load: %w", err)
	}
	r.record.Keys = &results.Keys{Before: n}
	return nil
}

// countTimeout bounds a count, which reads every key in some databases. countPerKey is added for
// each key.
const (
	countTimeout = 60 * time.Second
	countPerKey  = 50 * time.Microsecond
)

// countWithin returns the timeout for counting the keys of l.
func countWithin(l *workload.Load) time.Duration {
	return countTimeout + time.Duration(min(l.Existing()+l.Requests, 1<<32))*countPerKey
}

// countAfter counts the keys again, even after an interrupt. A failed count is recorded, and the
// measurements stay valid.
func countAfter(ctx context.Context, r *run, c issue.Counts) {
	k := r.record.Keys
	if k == nil {
		return
	}
	if n := slices.IndexFunc(c.Lost, func(err error) bool { return err != nil }); n >= 0 {
		k.Error = fmt.Sprintf("generator %s was lost, so the last keys it wrote are not known", r.record.Generators[n].Addr)
		return
	}
	k.MinAdded, k.MaxAdded = c.Surely, c.Surely+c.Perhaps
	if r.db.Load.SameKey {
		k.MinAdded, k.MaxAdded = 0, 1
	}
	ctx, cancel := remote.Within(context.WithoutCancel(ctx), countWithin(&r.db.Load))
	defer cancel()
	n, err := r.driver.(database.Counter).CountKeys(ctx, r.target)
	if err != nil {
		k.Error = err.Error()
		return
	}
	k.After = n
}

// numberKeys sets the number for the first key that the load creates on a running cluster: above
// all numbers in use. Earlier runs left gaps where writes failed, so the key count is not that
// number.
func numberKeys(ctx context.Context, r *run, spec *load.Spec) error {
	l := &r.db.Load
	if r.db.Steps.Start || l.SameKey || !l.Any(workload.Op.Creates) && !l.Any(workload.Op.Ranges) {
		return nil
	}
	finder, ok := r.driver.(database.KeyFinder)
	if !ok {
		return fmt.Errorf("a load that creates keys on a running cluster needs the highest key in use, and the driver of %s cannot find it", r.db.Name)
	}
	ctx, cancel := remote.Within(ctx, countWithin(&r.db.Load))
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

// firstKey returns the number for the first key above highest. All keys must have the requested
// size.
func firstKey(l *workload.Load, highest int64) (int64, error) {
	if highest == math.MaxInt64 {
		return 0, fmt.Errorf("the cluster has key %d, the highest possible number: delete it", highest)
	}
	first := max(l.Keys, l.Preload, highest+1)
	if !l.Any(workload.Op.Creates) {
		return first, nil
	}
	// A load that is bounded by its duration alone creates at least one.
	created := max(l.KeyNumbers(l.Requests)-max(l.Keys, l.Preload), 1)
	if last := first + created - 1; last < first || len(strconv.FormatInt(last, 10)) > l.KeySize {
		return 0, fmt.Errorf("the cluster has keys up to number %d, and the load may create %d more: keys of %d bytes have no room for these numbers; use a larger key_size or an empty cluster",
			highest, created, l.KeySize)
	}
	return first, nil
}

// keysTimeout bounds the wait for members that are behind.
const keysTimeout = 30 * time.Second

// awaitKeys waits until every targeted member has the keys written before it. Only stale reads can
// miss them.
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
	conns, err := d.dial(ctx, len(members)) // one to each
	if err != nil {
		return err
	}
	return errors.Join(load.AwaitKeys(ctx, spec, clients, conns), database.CloseAll(conns))
}
