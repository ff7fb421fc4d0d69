package consistency

import (
	"math/rand/v2"
	"testing"
)

// TestInTurn: requests in a batch that follow one another on a key get the verdict from trying
// every order.
func TestInTurn(t *testing.T) {
	var s tally
	r := rand.New(rand.NewPCG(41, 42))
	for range 2000 {
		s.compare(t, r, recipe{clients: 1 + r.IntN(2), requests: 4 + r.IntN(20), lies: 0.1 * float64(r.IntN(2))}, true, linearizable)
		if t.Failed() {
			return
		}
	}
	if s.wrong < 200 || s.histories-s.wrong < 200 {
		t.Errorf("%d of %d histories are wrong: that tests too little", s.wrong, s.histories)
	}
}
