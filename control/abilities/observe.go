package abilities

import (
	"errors"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/observation"
)

// Observe writes observations about the load into the files for their group, and the totals into
// the record. It writes nothing without observations.
func (r *Run) Observe(g observation.Group, seconds []observation.Second) error {
	if len(seconds) == 0 {
		return nil
	}
	s := observation.NewStream(g, r.Dir, time.Unix(seconds[0].Second, 0))
	return errors.Join(s.Write(seconds), s.Close(), r.Observed(s))
}

// Observed writes the totals of s into the record, if it has at least one second.
func (r *Run) Observed(s *observation.Stream) error {
	all := s.Totals()
	if len(all) == 0 {
		return nil
	}
	totals, err := ability.Observed().Of(r.Record.Records)
	if err != nil {
		return err
	}
	if totals == nil {
		totals = observation.Totals{}
	}
	totals[s.Group().Name] = all
	return ability.Observed().Set(&r.Record.Records, totals)
}

// StepAt returns the index of the last step that began before the given time. It reads the record.
func (r *Run) StepAt(at time.Time) int {
	step := 0
	for _, s := range r.Record.Steps {
		if !s.Start.After(at) {
			step = s.Index
		}
	}
	return step
}
