package cause

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/run"
)

// fsyncRule names log syncs in the leader.
func fsyncRule() Rule {
	return Rule{
		Name: "fsync", Words: "syncs of the leader's log", Lines: []string{nameFsync}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string {
			return fmt.Sprintf("%s a sync, for %.0f %% of the time", millis(f.Sync), 100*min(f.Syncing.Value, 1))
		},
	}
}

// fsync returns the share that syncs take in the time left without the wait for other members
// beyond the sync in the leader, or one whole sync if that is longer. Only one whole sync, without
// waits for a processor, is certain: while the leader syncs for others, a request may also be
// elsewhere. Requests do not wait for the rest of a sync that takes longer than agreement by most
// members.
func fsync(f *Facts, at above) run.Measure {
	if !f.Syncing.Known() {
		return f.Syncing
	}
	waited := 1.0
	if f.Agreement.Known() && f.Sync.Known() && f.Sync.Value > f.Agreement.Value {
		waited = f.Agreement.Value / f.Sync.Value
	}
	left := at.left
	if beyond := f.beyond(at); beyond.Known() {
		left = max(left-beyond.Value, 0)
	}
	m := during(f.Syncing.Times(waited), left)
	if !f.Sync.Known() {
		return atLeast(m, 0)
	}
	whole := f.Sync.Value * waited
	if f.Throttled.Known() { // syncs last while the leader is stopped
		share, _ := f.stopped()
		whole *= 1 - share
	}
	m.Value = max(m.Value, whole)
	return atLeast(m, whole*(1-f.suspended()))
}

// syncsUnsure is the time on the line in which the syncing thread may have waited for a processor.
func syncsUnsure(f *Facts, m run.Measure) float64 { return m.Value * f.suspended() }

// suspended is the most time in leader syncs in which the syncing thread can have waited for a
// processor: all the time in which a leader thread waited, or in which the leader used all
// processors that it may use, and its runtime could not run another thread.
func (f *Facts) suspended() float64 {
	if !f.Waiting.Known() || !f.Used.Known() || f.Syncing.Value <= 0 {
		return 1
	}
	allowed := 1.0
	if f.Allowed.Known() {
		allowed = max(math.Ceil(f.Allowed.Value), 1)
	}
	return min((f.Waiting.Value+f.Used.Value/allowed)/f.Syncing.Value, 1)
}
