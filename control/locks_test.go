package control

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// locksOf returns the outcome of the locks in rec, and the turns.
func locksOf(t *testing.T, rec record) (locks.Outcome, []locks.Turn) {
	t.Helper()
	o, err := locks.Record().Of(rec.run.Records)
	if err != nil {
		t.Fatalf("read the outcome of %s: %v", rec.run.Tag, err)
	}
	turns, err := locks.ReadTurns(filepath.Join(rec.dir, locks.FileTurns))
	if err != nil {
		t.Fatalf("read the turns of %s: %v", rec.run.Tag, err)
	}
	return o, turns
}

// Contenders compete during a load, in stages. The numbers in the record follow from the turns, and
// the order of the store is found. A lock with two holders, or an old fence, makes the run invalid.
// Keys of locks are not counted with those of the load.
func TestLocks(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(2*time.Second, `
load: {rate: 100, duration: 9s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
locks: {contenders: [2, 5], hold: 1ms, ttl: 5s}
databases:
  fake__queue: {options: {hand_over: 3ms}}
  fake__lottery: {locks: {recipe: lottery, names: 2}, options: {hand_over: 3ms}}
  fake__liar: {locks: {hold: 20ms}, options: {two_holders_every: 5, old_fence_every: 4}}
`, func(out *Outcome) string {
		o, _ := locksOf(t, r.read(out.Folders[0], 2))
		if n := len(o.Stages); n > 0 && o.Stages[n-1].Acquired < 20 {
			return fmt.Sprintf("the liar had time for only %d turns", o.Stages[n-1].Acquired)
		}
		return ""
	})
	for n, want := range []struct {
		order locks.Order
		lies  bool
	}{{locks.Queue, false}, {locks.Race, false}, {locks.Queue, true}} {
		rec := r.read(out.Folders[0], n)
		o, turns := locksOf(t, rec)
		if len(o.Stages) != 2 || o.Stages[0].Contenders != 2 || o.Stages[1].Contenders != 5 || o.Left > 0 {
			t.Fatalf("%s: stages %+v, want one of 2 and one of 5 contenders, and none left (%s)", rec.run.Tag, o.Stages, o.WhyLeft)
		}
		if o.TTL != 5*time.Second || o.What == "" || o.Rule == "" || o.By == "" || o.Before == nil || o.Stages[1].Meanwhile == nil {
			t.Errorf("%s: %+v lacks facts, or what others felt", rec.run.Tag, o)
		}
		var s locks.Safety
		for _, stage := range o.Stages {
			s.Overlaps, s.Disorder = s.Overlaps+stage.Safety.Overlaps, s.Disorder+stage.Safety.Disorder
			if stage.Missing > 0 || stage.Acquired == 0 {
				t.Errorf("%s: %d contenders are missing (%s), %d acquired", rec.run.Tag, stage.Missing, stage.Why, stage.Acquired)
			}
		}
		if want.lies != (s.Overlaps > 0) || want.lies != (s.Disorder > 0) || want.lies != hasMark(rec.run, mark.LocksOverlap) || want.lies != hasMark(rec.run, mark.LocksFences) {
			t.Errorf("%s: %+v and the marks %q, want lies to be found: %v", rec.run.Tag, s, rec.marks(), want.lies)
		}
		// On an overloaded machine, too few turns are certain.
		if f := o.Stages[1].Fairness; !want.lies && f.Order != want.order && (f.Order != locks.Undecided || f.Decided > 100) {
			t.Errorf("%s: %+v, want a %s", rec.run.Tag, f, want.order)
		}
		if hasMark(rec.run, mark.Keys) {
			t.Errorf("%s: marks %q, want no key of a lock counted", rec.run.Tag, rec.marks())
		}
		if got := strings.Join(rec.kinds(), ","); strings.Count(got, "contenders") != 2 {
			t.Errorf("%s: events %s, want one of each stage", rec.run.Tag, got)
		}
		turnsAgree(t, rec, o, turns)
		observedLocks(t, rec, o)
	}
}

// Elected holders die, and the lock passes on after the TTL.
func TestElection(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	out := r.undisturbed(500*time.Millisecond, `
load: {rate: 50, duration: 12s, clients: 4, connections: 4, timeout: 60s, key_size: 32, value_size: 64}
locks: {contenders: [3], hold: 100ms, ttl: 1s, elect: true}
databases:
  fake:
`, func(out *Outcome) string {
		rec := r.read(out.Folders[0], 0)
		o, _ := locksOf(t, rec)
		if f, stops := o.Stages[0].FailOver, rec.run.Stops; f.Early > 0 && stops != nil && stops.TotalNS > 0 {
			return fmt.Sprintf("short stops, %v in all, may have delayed renewals: %+v", time.Duration(stops.TotalNS), f)
		}
		return ""
	})
	rec := r.read(out.Folders[0], 0)
	o, turns := locksOf(t, rec)
	f := o.Stages[0].FailOver
	if f.Dead == 0 || f.Passed == nil || f.Passed.N != f.Dead-f.NotTaken || f.Early > 0 || time.Duration(f.Passed.P50) < o.Earliest {
		t.Errorf("%+v, want deaths and no lock that passed before %v", f, o.Earliest)
	}
	if got := strings.Count(strings.Join(rec.kinds(), ","), "holder abandoned"); int64(got) != f.Dead {
		t.Errorf("%d events of deaths, want %d", got, f.Dead)
	}
	turnsAgree(t, rec, o, turns)
}

// turnsAgree fails unless the outcome follows from the turns in the file, computed in another
// way.
func turnsAgree(t *testing.T, rec record, o locks.Outcome, turns []locks.Turn) {
	t.Helper()
	for n, stage := range o.Stages {
		var acquired, overlaps, handOffs, slowest, passed int64
		counts := map[int32]int64{}
		for name := range o.Plan.Names {
			var all, held []locks.Turn
			for _, one := range turns {
				if int(one.Stage) == n && int(one.Name) == name {
					if all = append(all, one); one.Held() {
						held = append(held, one)
					}
				}
			}
			slices.SortStableFunc(held, func(a, b locks.Turn) int {
				return cmp.Or(cmp.Compare(a.Acquired, b.Acquired), cmp.Compare(a.Fence, b.Fence))
			})
			for i, one := range held {
				acquired++
				counts[one.Contender]++
				if slices.ContainsFunc(held[:i], func(before locks.Turn) bool { return before.Sent > one.Acquired }) {
					overlaps++
				}
				if i == 0 || held[i-1].Sent > one.Acquired {
					continue
				}
				before := held[i-1]
				waits := slices.ContainsFunc(all, func(other locks.Turn) bool {
					return other.End != locks.Refused && other.Asked < before.Sent && (other.Acquired > before.Sent || other.Acquired == 0)
				})
				switch {
				case before.End == locks.Abandoned:
					passed++
				case before.End == locks.Released && waits:
					handOffs++
					slowest = max(slowest, one.Acquired-before.Sent-one.Stopped)
				}
			}
		}
		var most int64
		for _, c := range counts {
			most = max(most, c)
		}
		if stage.Acquired != acquired || stage.Safety.Overlaps+stage.Safety.Believed < overlaps || (overlaps > 0) != (stage.Safety.Overlaps > 0) {
			t.Errorf("%s, stage %d: %d acquired and %d held twice by the turns, %d and %+v in the record", rec.run.Tag, n, acquired, overlaps, stage.Acquired, stage.Safety)
		}
		if h := stage.HandOff; h != nil && (h.N != handOffs || h.Max != slowest) || h == nil && handOffs > 0 {
			t.Errorf("%s, stage %d: %d hand-offs, the slowest in %v by the turns, %+v in the record", rec.run.Tag, n, handOffs, time.Duration(slowest), h)
		}
		if p := stage.FailOver.Passed; p != nil && p.N != passed || p == nil && passed > 0 {
			t.Errorf("%s, stage %d: locks of %d dead holders passed by the turns, %+v in the record", rec.run.Tag, n, passed, stage.FailOver)
		}
		if got := float64(most) / float64(max(acquired, 1)); o.Plan.Names == 1 && got != stage.Fairness.Most {
			t.Errorf("%s, stage %d: the luckiest contender has %v of the turns, in the record %v", rec.run.Tag, n, got, stage.Fairness.Most)
		}
	}
}

// observedLocks fails unless the values by second match the record.
func observedLocks(t *testing.T, rec record, o locks.Outcome) {
	t.Helper()
	seconds, err := observation.Read(locks.Observed(), rec.dir)
	if err != nil {
		t.Fatalf("read %s: %v", locks.Observed().File(), err)
	}
	totals := locks.Observed().Total(seconds)
	recorded, err := ability.Observed().Of(rec.run.Records)
	if err != nil {
		t.Fatal(err)
	}
	var acquired, handOffs, overlaps, longest int64
	for _, s := range o.Stages {
		acquired, overlaps = acquired+s.Acquired, overlaps+s.Safety.Overlaps
		if s.HandOff != nil {
			handOffs, longest = handOffs+s.HandOff.N, max(longest, s.HandOff.Max)
		}
	}
	for name, want := range map[string]int64{locks.ValueWait: acquired, locks.ValueHandOff: handOffs} {
		if got, is := totals[name], recorded[locks.Observed().Name][name]; got.N != want || got.N != is.N || got.Value != is.Value {
			t.Errorf("%s of %s: %+v in the file, %+v in the record, want %d times", name, rec.run.Tag, got, is, want)
		}
	}
	if got := totals[locks.ValueOverlap].Value; got != overlaps || int64(totals[locks.ValueHandOff].Longest) != longest {
		t.Errorf("%s: %d held twice and a longest hand-off of %v by second, want %d and %v", rec.run.Tag, got, totals[locks.ValueHandOff].Longest, overlaps, time.Duration(longest))
	}
}
