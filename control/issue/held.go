package issue

import (
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load/contenders/across"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// hold takes locks held by g, and converts their times to the clock of its session.
func (g *generator) hold(m *pb.LoadHeld) (err error) {
	before, zero := len(g.held), m.GetZeroUnixNs()
	g.held, err = across.Decode(g.held, m.GetHoldings(), across.Most/len(g.set.parts))
	for i := range g.held[before:] {
		h := &g.held[before+i]
		h.Acquired, h.Sent = h.Acquired+zero, h.Sent+zero
	}
	return err
}

// heldAcross compares the times when different generators held the same locks.
func (s *Set) heldAcross(all *results.LoadLocks) {
	if len(s.gens) < 2 {
		return
	}
	var parts []across.Part
	for _, g := range s.gens {
		g.mu.Lock()
		bounds := clocks.NewBounds(g.clock.list)
		g.mu.Unlock()
		parts = append(parts, across.Part{Held: g.held, Clock: bounds.Client})
		g.held = nil
	}
	v := across.Judge(parts)
	all.Overlaps, all.Disorder = all.Overlaps+v.Overlaps, all.Disorder+v.Disorder
	all.Compared, all.Unsure, all.ClockError = v.Compared, v.Unsure, v.Error
}
