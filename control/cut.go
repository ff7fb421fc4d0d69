package control

import (
	"slices"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/judge"
	"github.com/coreos/dbtester/pkg/results"
)

// cut returns when abilities disturbed the load.
func (r *run) cut() (cut []results.Stretch) {
	for _, half := range r.halves {
		if c, ok := half.(abilities.Cutter); ok {
			cut = append(cut, c.Cut()...)
		}
	}
	return cut
}

// outside returns the rows that no cut time touches.
func outside(rows []results.Progress, run *results.DatabaseRun, cut []results.Stretch) []results.Progress {
	if len(cut) == 0 {
		return rows
	}
	starts := map[int]time.Time{}
	for _, s := range run.Steps {
		starts[s.Index] = s.Start.Round(0)
	}
	return slices.DeleteFunc(slices.Clone(rows), func(p results.Progress) bool {
		from, to := starts[p.Step].Add(time.Duration(p.FromNS)), starts[p.Step].Add(time.Duration(p.ToNS))
		return slices.ContainsFunc(cut, func(c results.Stretch) bool { return c.Overlaps(from, to) })
	})
}

// recount replaces the counts of a step by sums over the rows in its measured window. Requests are
// then counted when they ended, not when they were due. Counts missing in the rows are unknown: the
// time that clients had no server, the requests that found them busy, and the count for each
// member.
func recount(s *judge.Step, rows []results.Progress, run *results.DatabaseRun, step results.Step) {
	from, to := run.Measured(step)
	first, last := int64(from.Sub(step.Start.Round(0))), int64(to.Sub(step.Start.Round(0)))
	s.OK, s.Failed, s.Unknown, s.Shed, s.Unsent = 0, 0, 0, 0, 0
	for _, p := range rows {
		if p.Step != step.Index || p.FromNS < first || p.ToNS > last {
			continue
		}
		s.OK, s.Failed, s.Unknown = s.OK+p.OK, s.Failed+p.Failed, s.Unknown+p.Unknown
		s.Shed, s.Unsent = s.Shed+p.Shed, s.Unsent+p.Unsent
	}
	s.Excused = min(s.Excused, s.Failed)
	s.Queued, s.Late = 0, 0
	s.Waiting, s.Members = nil, nil
}
