package deaths

import (
	"testing"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/mark"
)

// The reasons why sessions were not granted and not ended are given, whichever there are.
func TestMarkReasons(t *testing.T) {
	for _, c := range []struct{ why, whyLeft, want string }{{"no room", "", "no room"}, {"", "no answer", "no answer"}, {"no room", "no answer", "no room; no answer"}} {
		var got string
		h := &Half{run: &abilities.Run{Mark: func(_ string, _ mark.Values, words mark.Words) { got = words["why"] }}}
		if h.mark(&deaths.Outcome{NotGranted: 1, Tally: deaths.Tally{Why: c.why, WhyLeft: c.whyLeft}}); got != c.want {
			t.Errorf("the reasons %q and %q are given as %q, want %q", c.why, c.whyLeft, got, c.want)
		}
	}
}
