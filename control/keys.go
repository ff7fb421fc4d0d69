package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/shared"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// prefixOf returns the name below which a run's keys lie, "" on a cluster of its own.
func prefixOf(db *config.Database, driver database.Driver, runID string) string {
	if _, ok := driver.(database.Cleaner); !ok || len(db.Endpoints) == 0 {
		return ""
	}
	return cmp.Or(db.Prefix, db.DefaultPrefix(runID))
}

// enterShared records that the load shares a cluster.
func (r *run) enterShared(context.Context) error {
	r.record.Shared = &results.Shared{Prefix: r.target.Prefix, Left: -1}
	r.journal.step("all keys lie below %s/", r.target.Prefix)
	return nil
}

// leaveShared removes the keys below the prefix, if the experiment asks for it, and
// marks those that are left.
func (r *run) leaveShared(ctx context.Context) error {
	s := r.record.Shared
	if r.db.Cleanup {
		r.journal.event("cleanup", -1, s.Prefix)
		done, left := shared.Clean(ctx, r.driver, r.target, r.journal.step)
		s.Cleanup, s.Left = &done, left
		r.journal.say("removed %d keys below %s/", done.Removed, s.Prefix)
	} else {
		left, err := shared.Count(ctx, r.driver, r.target)
		if s.Left = left; err != nil {
			r.journal.say("count the keys below %s/: %v", s.Prefix, err)
		}
	}
	if s.Left == 0 && (s.Cleanup == nil || s.Cleanup.Error == "") {
		return nil
	}
	values, words := mark.Values{}, mark.Words{"prefix": s.Prefix}
	if s.Left >= 0 {
		values["keys"] = float64(s.Left)
	}
	if s.Cleanup != nil && s.Cleanup.Error != "" {
		words["why"] = strings.Join(strings.Fields(s.Cleanup.Error), " ")
	}
	r.mark(mark.KeysLeft, values, words)
	r.journal.say("%s", mark.Text(mark.KeysLeft, values, words))
	return nil
}

// Cleanup removes what a recorded run left below its prefixes on clusters that others use,
// and records that in its manifest. Say is called with what happens.
func Cleanup(ctx context.Context, folder *results.Folder, registry *database.Registry, say func(format string, args ...any)) error {
	m, err := folder.Manifest()
	if err != nil {
		return err
	}
	var e config.Experiment
	if err := json.Unmarshal(m.Config, &e); err != nil {
		return fmt.Errorf("decode the run's experiment: %w", err)
	}
	found := false
	var errs []error
	for _, record := range m.Databases {
		at := slices.IndexFunc(e.Databases, func(d config.Database) bool { return d.Tag == record.Tag })
		if record.Shared == nil || record.Shared.Prefix == "" || at < 0 {
			continue
		}
		found = true
		if err := cleanRecorded(ctx, record, &e.Databases[at], registry, say); err != nil {
			errs = append(errs, named(record.Tag, err))
		}
	}
	if !found {
		say("the run did not write to a shared cluster: there is nothing to remove")
		return nil
	}
	return errors.Join(append(errs, folder.WriteManifest(m))...)
}

// cleanRecorded removes the keys of one database of a recorded run.
func cleanRecorded(ctx context.Context, record *results.DatabaseRun, db *config.Database, registry *database.Registry, say func(string, ...any)) error {
	entry, err := registry.Get(record.Database)
	if err != nil {
		return err
	}
	driver := entry.New()
	if err := json.Unmarshal(record.Options, driver); err != nil {
		return fmt.Errorf("decode the recorded options: %w", err)
	}
	t := database.Target{Prefer: -1, Endpoints: db.Endpoints, Prefix: record.Shared.Prefix}
	if t.TLS, t.Auth, err = credentials(db); err != nil {
		return err
	}
	done, left := shared.Clean(ctx, driver, t, say)
	record.Shared.Cleanup, record.Shared.Left = &done, left
	say("%s: removed %d keys below %s/", record.Tag, done.Removed, t.Prefix)
	switch {
	case done.Error != "":
		return errors.New(done.Error)
	case left > 0:
		return fmt.Errorf("%d keys are still below %s/: something writes there", left, t.Prefix)
	}
	record.Validity = slices.DeleteFunc(record.Validity, func(m results.Mark) bool { return m.Code == mark.KeysLeft })
	return nil
}

// countBefore asks the database how many keys it holds, before a load that creates
// keys and deletes none.
func countBefore(ctx context.Context, r *run) error {
	counter, ok := r.driver.(database.Counter)
	if !ok || !r.db.Load.Any(workload.Op.Creates) || r.db.Load.Any(workload.Op.Deletes) {
		return nil
	}
	ctx, cancel := fleet.Within(ctx, countWithin(&r.db.Load))
	defer cancel()
	n, err := counter.CountKeys(ctx, r.target)
	if err != nil {
		return fmt.Errorf("count keys before the load: %w", err)
	}
	r.record.Keys = &results.Keys{Before: n}
	return nil
}

// countTimeout bounds a count: it reads every key of some databases. Of many keys, each
// has another countPerKey.
const (
	countTimeout = 60 * time.Second
	countPerKey  = 50 * time.Microsecond
)

// countWithin is the time that a count of the keys of a load may take.
func countWithin(l *workload.Load) time.Duration {
	return countTimeout + time.Duration(min(l.Existing()+l.Requests, 1<<32))*countPerKey
}

// countAfter asks again, also after an interrupt. A count that fails is recorded and
// leaves the measurements valid.
func countAfter(ctx context.Context, r *run, c issued) {
	k := r.record.Keys
	if k == nil {
		return
	}
	if c.uncounted != "" {
		k.Error = c.uncounted
		return
	}
	k.MinAdded, k.MaxAdded = c.surely, c.surely+c.perhaps
	if r.db.Load.SameKey {
		k.MinAdded, k.MaxAdded = 0, 1
	}
	ctx, cancel := fleet.Within(context.WithoutCancel(ctx), countWithin(&r.db.Load))
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
		return fmt.Errorf("a load that creates keys on a running cluster needs the highest key in use, and the driver of %s cannot find it", r.db.Name)
	}
	ctx, cancel := fleet.Within(ctx, countWithin(&r.db.Load))
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
	return errors.Join(load.AwaitKeys(ctx, spec, clients, conns), database.CloseAll(conns))
}
