package issue

import (
	"math"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/loadwire"
)

func newRelay(s *Set, watch load.Watch) *relay {
	return &relay{set: s, watch: watch, operations: len(s.spec.Operations()), before: make([]int64, len(s.parts))}
}

// take takes a message from one part.
func (r *relay) take(part int, m *pb.LoadWrites) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list, err = loadwire.WritesOf(r.list[:0], m, r.operations); err != nil {
		return err
	}
	if len(r.list) > 0 {
		if err := r.watch(r.list, r.least); err != nil {
			return err
		}
	}
	r.before[part] = max(r.before[part], m.GetBeforeUnixNs())
	return r.pass()
}

// pass passes on the moment before which all writes have come from living generators. Writes not
// sent by a lost one are unknown.
func (r *relay) pass() error {
	least := int64(math.MaxInt64)
	for i, p := range r.set.parts {
		if p.lostBy() == nil {
			least = min(least, r.before[i])
		}
	}
	if least <= r.least || least == math.MaxInt64 {
		return nil
	}
	r.least = least
	return r.watch(nil, least)
}

// ClockError bounds the difference between the clock of this run and the times sent by generators,
// 0 without generators: records are in the clock as it was before the first step.
func (s *Set) ClockError() (most time.Duration) {
	for _, g := range s.gens {
		for i := range g.record.Steps {
			step := &g.record.Steps[i]
			moved := time.Duration(step.ClockOffsetNS - g.record.Steps[0].ClockOffsetNS)
			most = max(most, moved.Abs()+time.Duration(step.ClockErrorNS)+time.Duration(step.ClockMovedNS).Abs())
		}
	}
	return most
}
