package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// Requests from this process or from generators take locks. Each acquired lock is accounted for. A
// lock with two holders, or an old fence, makes the run invalid. No lock's key remains or is
// counted with the keys.
func TestLoadLocks(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, generators := range []int{0, 2} {
		t.Run(fmt.Sprint(generators), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			key := ""
			if generators > 0 {
				key = r.generate(generators, true)
			}
			out, err := r.hurried(key + `
load: {clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64, operation: lock, lock_hold: 0s, lock_ttl: 60s}
databases:
  fake__spread: {load: {keys: 100, requests: 400}}
  fake__contended: {load: {same_key: true, rate: 100, duration: 2s, lock_hold: 1ms}}
  fake__mixed: {load: {mix: {lock: 1, write: 1}, keys: 3, key_law: zipfian, requests: 1000}}
  fake__steps: {load: {keys: 2, lock_recipe: lottery, steps: [{clients: 2, connections: 2, requests: 50}, {clients: 6, connections: 6, requests: 60}]}}
  fake__liar: {load: {keys: 2, key_law: sequential, requests: 400, lock_hold: 2ms, clients: 8, connections: 8}, options: {two_holders_every: 5, old_fence_every: 17}}
`)
			if err != nil {
				t.Fatalf("run: %v", err)
			}
			for n, want := range []results.LoadLocks{
				{Opened: 4, Acquired: 400}, {Opened: 4, Acquired: 200}, {Opened: 4, Acquired: 500}, {Opened: 8, Acquired: 110}, {Opened: 8, Acquired: 400},
			} {
				rec := r.read(out.Folders[0], n)
				got := rec.run.Locks
				if got == nil {
					t.Errorf("%s: nothing is recorded of its locks", rec.run.Tag)
					continue
				}
				lies := n == 4
				if lies != (got.Overlaps > 0) || lies != (got.Disorder > 0) || lies != hasMark(rec.run, mark.LocksOverlap) || lies != hasMark(rec.run, mark.LocksFences) {
					t.Errorf("%s: %+v and the marks %q, want lies to be found: %v", rec.run.Tag, *got, rec.marks(), lies)
				}
				want.Recipe, want.By, want.Fence, want.TTL = rec.run.Load.Locks.Recipe, "dbtester", "a number of the leader's", time.Minute
				want.Released, want.Overlaps, want.Disorder = want.Acquired, got.Overlaps, got.Disorder
				if want.Parts = generators; generators > 0 {
					want.Compared, want.Unsure, want.ClockError = got.Acquired, got.Unsure, got.ClockError
				}
				if *got != want || (got.ClockError > 0) != (generators > 0) {
					t.Errorf("%s: %+v, want %+v", rec.run.Tag, *got, want)
				}
				if rec.run.Sessions != nil || hasMark(rec.run, mark.Keys) || hasMark(rec.run, mark.LocksShort) {
					t.Errorf("%s: sessions %+v, marks %q, want none of these", rec.run.Tag, rec.run.Sessions, rec.marks())
				}
				rec.count(t, rec.run.Load.Operations())
			}
			r.mustBeIdle()
		})
	}
}

// The latency includes the wait for locks held in the same load, but not the time for which the
// lock is held.
func TestLoadLocksTimed(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.mustRun(r.experiment(`
load: {clients: 2, connections: 2, timeout: 60s, key_size: 32, operation: lock, requests: 20, lock_hold: 100ms, lock_ttl: 60s}
databases:
  fake__one: {load: {same_key: true}}
  fake__other: {load: {keys: 2, key_law: sequential, clients: 1, connections: 1}}
`), nil)
	for n, waits := range []bool{true, false} {
		rec := r.read(out.Folders[0], n)
		total := int64(0)
		for _, row := range rec.intervals {
			total += row.Latency(results.TimingService, workload.OK).SumNS
		}
		// All except the first wait while another holds the lock, unless this machine is busy.
		if least := int64(100 * time.Millisecond); waits && total < least {
			t.Errorf("%s: 20 requests waited %v together, want at least %v", rec.run.Tag, time.Duration(total), time.Duration(least))
		}
		if took := rec.run.LoadEnd.Sub(rec.run.LoadStart); took < 1900*time.Millisecond {
			t.Errorf("%s: 20 locks were held for 100ms each, but the load took %v", rec.run.Tag, took)
		}
		if inside := rec.run.Steps[0].InsideNS; inside < int64(1800*time.Millisecond) {
			t.Errorf("%s: clients were inside calls for %v, want the time for which they hold locks among it", rec.run.Tag, time.Duration(inside))
		}
	}
}
