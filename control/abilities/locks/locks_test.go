package locks

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// A run gets the marks for its locks, for all stages together, and no others.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		of   locks.Outcome
		want map[string]string
	}{
		"nothing wrong": {locks.Outcome{Stages: []locks.Stage{{Acquired: 10}}}, map[string]string{}},
		"unsafe": {
			locks.Outcome{Plan: locks.Plan{Recipe: "library"}, Fence: "a revision", Rule: "after its TTL", Stages: []locks.Stage{
				{Acquired: 10, Safety: locks.Safety{Overlaps: 1, Believed: 2}}, {Acquired: 5, Safety: locks.Safety{Overlaps: 1, Disorder: 1, Lost: 3}, FailOver: locks.FailOver{Dead: 4, Early: 1}},
			}},
			map[string]string{
				mark.LocksOverlap:  "2 of 15 locks were acquired while another holder believed that it held the same one (recipe library)",
				mark.LocksFences:   "1 of 15 locks had a fence that was not greater than that of the holder before: a revision",
				mark.LocksEarly:    "1 of 4 dead holders lost their lock before the database's rule allows: after its TTL",
				mark.LocksBelieved: "of 15 locks, 2 were believed held after the session had ended because this client was stopped, and 3 were not held any more when they were given up",
			},
		},
		"refused": {
			locks.Outcome{Stages: []locks.Stage{{Acquired: 10}, {Refused: 3, Unclear: 1, WhyRefused: "no answer"}}},
			map[string]string{mark.LocksShort: "4 requests for locks failed, the first because of: no answer"},
		},
		"not opened and not closed": {
			locks.Outcome{Left: 2, WhyLeft: "no answer", Stages: []locks.Stage{{Missing: 1, Why: "no room"}}},
			map[string]string{mark.LocksShort: "1 contender could not be opened, 2 contenders could not be closed, the first because of: no room"},
		},
	} {
		got := map[string]string{}
		h := &Half{run: &abilities.Run{Mark: func(code string, v mark.Values, w mark.Words) { got[code] = mark.Text(code, v, w) }}}
		h.mark(&c.of)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A dry run describes the stages, the recipe, and when locks of dead holders pass.
func TestDescribe(t *testing.T) {
	facts := &database.LockFacts{
		What: "key", Recipes: []database.LockRecipe{{Name: "direct"}}, Delayed: "LockDelay", MostDelay: time.Minute,
		Session: database.SessionFacts{Step: time.Second, Ends: func(ttl time.Duration, _ int) (earliest, latest time.Duration) { return ttl, ttl }},
		Renews:  func(time.Duration) time.Duration { return time.Second },
	}
	h := &Half{
		run:  &abilities.Run{DB: &config.Database{Name: "db", Load: workload.Load{Extent: workload.Extent{Duration: time.Minute}}}},
		plan: locks.Plan{Names: 2, Contenders: []int{2, 3}, Hold: time.Second, Recipe: "direct", TTL: 5 * time.Second, Elect: true, Delays: true}, facts: facts,
	}
	want := "locks: after 20s without any, 2, 3 contenders compete for each of 2 locks for 20s each, and hold it for 1s; recipe direct by dbtester (key); holders die, and db passes their locks 4s to 5s later; LockDelay 0s"
	if got := strings.Join(h.Describe(), "\n"); got != want {
		t.Errorf("described as\n%s, want\n%s", got, want)
	}
	if got := (&Half{}).Describe(); got != nil {
		t.Errorf("no locks are described as %q", got)
	}
}

// Only whole seconds belong to a stage.
func TestWithin(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	for _, c := range []struct{ from, to, first, last int64 }{{1500, 4200, 2, 3}, {2000, 4000, 2, 3}, {1500, 1900, 2, 2}} {
		var got results.Stretch = within(at(c.from), at(c.to))
		if got.From.Unix() != c.first || got.To().Unix() != c.last {
			t.Errorf("from %d to %d ms are the seconds %d to %d, want %d to %d", c.from, c.to, got.From.Unix(), got.To().Unix(), c.first, c.last)
		}
	}
}
