package consistency

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
)

// model returns a register for one key.
func model(initial int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(Op)
			after, legal := apply(&o, state.(int64))
			return legal, after
		},
	}
}

// byPorcupine decides with Porcupine. Requests of unknown outcome never end, and their clients send
// no other.
func byPorcupine(h []Op, initial int64) bool {
	var operations []porcupine.Operation
	for n, o := range h {
		end := o.End
		if o.Outcome == Unknown {
			end = never
		}
		operations = append(operations, porcupine.Operation{ClientId: n, Input: o, Call: o.Sent, Return: end})
	}
	return porcupine.CheckOperations(model(initial), operations)
}

// TestPorcupine: the verdict on writes and reads is Porcupine's.
func TestPorcupine(t *testing.T) {
	var s tally
	r := rand.New(rand.NewPCG(13, 14))
	for range 500 {
		s.compare(t, r, exactRecipe(r), true, byPorcupine)
		if t.Failed() {
			return
		}
	}
	if s.wrong < 30 {
		t.Errorf("%d of %d histories are wrong: that tests too little", s.wrong, s.histories)
	}
}
