package issue

import (
	"testing"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Locks in two generators are compared by both clocks, which are a minute apart. Overlaps beyond
// the clock errors are added to those that each found itself.
func TestHeldAcross(t *testing.T) {
	t.Parallel()
	const ms, second = int64(time.Millisecond), int64(time.Second)
	s := &Set{}
	for i, ahead := range []int64{0, 60 * second} {
		g := newGenerator(i, "", "")
		g.set = s
		s.gens, s.parts = append(s.gens, g), append(s.parts, g.part)
		for at := range int64(5) { // a round trip takes 2 ms
			sent := 1000*second + at*second
			g.clock.list = append(g.clock.list, clocks.NewExchange(i, sent, sent+ms+ahead, sent+ms+ahead, sent+2*ms))
		}
	}
	hold := func(i int, zero int64, list ...across.Holding) {
		for _, piece := range across.Encode(list) {
			if err := s.gens[i].hold(&pb.LoadHeld{ZeroUnixNs: zero, Holdings: piece}); err != nil {
				t.Fatal(err)
			}
		}
	}
	of := func(name, acquired, sent, fence int64) across.Holding {
		return across.Holding{Name: name, Acquired: acquired * ms, Sent: sent * ms, Fence: fence}
	}
	hold(0, 1000*second, of(1, 0, 100, 1), of(2, 0, 100, 1), of(3, 0, 100, 2))
	hold(0, 1002*second, of(1, 0, 100, 5))
	hold(1, 1060*second, of(1, 50, 150, 3), of(2, 101, 150, 2), of(3, 200, 300, 1))
	hold(1, 1062*second, of(1, 200, 250, 6))
	all := results.LoadLocks{Acquired: 8, Overlaps: 1}
	s.heldAcross(&all)
	if least, most := time.Millisecond, 3*time.Millisecond/2; all.ClockError < least || all.ClockError > most {
		t.Errorf("the clocks are known to within %v, want %v to %v", all.ClockError, least, most)
	}
	all.ClockError = 0
	if want := (results.LoadLocks{Acquired: 8, Overlaps: 2, Disorder: 1, Compared: 8, Unsure: 1}); all != want {
		t.Errorf("%+v, want %+v", all, want)
	}
	if err := s.gens[0].hold(&pb.LoadHeld{Holdings: []byte{1, 2}}); err == nil {
		t.Error("half a holding must be an error")
	}
}
