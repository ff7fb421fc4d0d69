package control

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// sweepLocks removes keys left for locks without holders, so that they are not counted as keys.
func (l *loader) sweepLocks(ctx context.Context) error {
	load := l.run.db.Load
	dialer, ok := l.run.driver.(database.LockDialer)
	if !load.Any(workload.Op.Locks) || !ok {
		return nil
	}
	on, err := dialer.DialLocks(context.WithoutCancel(ctx), l.run.target, database.LockOptions{Recipe: load.Locks.Recipe, TTL: load.Locks.TTL, Delay: load.Locks.Delay})
	if err == nil {
		err = on.Close()
	}
	if err != nil {
		return fmt.Errorf("remove what is left of locks: %w", err)
	}
	return nil
}

// noteLocks records the counts for acquired locks. It marks the run if two requests held one lock,
// fences did not rise, or locks are left. unknown names the parts without counts.
func (r *run) noteLocks(l *results.LoadLocks, unknown []string) {
	if !r.db.Load.Any(workload.Op.Locks) {
		return
	}
	if l == nil {
		l = &results.LoadLocks{Recipe: r.db.Load.Locks.Recipe, TTL: r.db.Load.Locks.TTL}
	}
	r.record.Locks = l
	r.journal.say("locks of the load: %d acquired, %d released, %d lost before, %d with an unclear release; %d held twice, %d fences out of order", l.Acquired, l.Released, l.Lost, l.Unclear, l.Overlaps, l.Disorder)
	set := func(code string, values mark.Values, words mark.Words) {
		r.record.Mark(code, values, words)
		r.journal.say("%s", mark.Text(code, values, words))
	}
	acquired := float64(l.Acquired)
	if l.Overlaps > 0 {
		set(mark.LocksOverlap, mark.Values{"overlaps": float64(l.Overlaps), "acquired": acquired}, mark.Words{"recipe": l.Recipe})
	}
	if l.Disorder > 0 {
		set(mark.LocksFences, mark.Values{"disorder": float64(l.Disorder), "acquired": acquired}, mark.Words{"fence": l.Fence})
	}
	if l.Believed+l.Lost > 0 {
		set(mark.LocksBelieved, mark.Values{"believed": float64(l.Believed), "lost": float64(l.Lost), "acquired": acquired}, nil)
	}
	if l.Unclear+l.Left > 0 || len(unknown) > 0 {
		counts := mark.Values{"refused": float64(l.Unclear), "left": float64(l.Left)}
		maps.DeleteFunc(counts, func(_ string, n float64) bool { return n == 0 })
		why := plaintext.Joined(l.Why)
		if len(unknown) > 0 {
			why = cmp.Or(why, "the locks of "+strings.Join(unknown, " and ")+" are not known")
		}
		set(mark.LocksShort, counts, mark.Words{"why": why})
	}
}
