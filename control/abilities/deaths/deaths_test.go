package deaths

import (
	"testing"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
)

// The reasons why sessions were not granted and not ended are given, whichever there are.
func TestMarkReasons(t *testing.T) {
	for _, c := range []struct{ why, whyLeft, want string }{{"no room", "", "no room"}, {"", "no answer", "no answer"}, {"no room", "no answer", "no room; no answer"}} {
		var got string
		h := &Half{run: &abilities.Run{Mark: func(_ string, _ mark.Values, words mark.Words) { got = words["why"] }}}
		if h.mark(&deaths.Outcome{NotGranted: 1, Why: c.why, WhyLeft: c.whyLeft}); got != c.want {
			t.Errorf("the reasons %q and %q are given as %q, want %q", c.why, c.whyLeft, got, c.want)
		}
	}
}

// Sessions with connections of their own need open files, others do not.
func TestRoomFor(t *testing.T) {
	own, shared := &database.SessionFacts{Conns: true}, &database.SessionFacts{}
	for _, c := range []struct {
		facts *database.SessionFacts
		held  int
		limit uint64
		fits  bool
	}{{own, 1000, 1024, false}, {own, 524, 1024, true}, {own, 525, 1024, false}, {own, 20_000, 0, true}, {shared, 20_000, 1024, true}} {
		if err := roomFor(c.facts, c.held, c.limit); (err == nil) != c.fits {
			t.Errorf("%d sessions with connections of their own (%v) and %d open files: %v, want room: %v", c.held, c.facts.Conns, c.limit, err, c.fits)
		}
	}
	if openFiles() == 0 {
		t.Error("the limit of open files is not known")
	}
}
