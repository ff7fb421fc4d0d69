package watchers

import (
	"fmt"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/metric"
)

// perEvent formats the machines' processor time divided by the deliveries, in microseconds, by
// stage.
func perEvent(of func(*run.Run) []*run.Machine) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		return cell(func(o *watchers.Outcome) (run.Measure, string) { return costs(of(r), o) })(r)
	}
}

// costs formats the machines' processor time for each delivery, by stage.
func costs(machines []*run.Machine, o *watchers.Outcome) (run.Measure, string) {
	if len(machines) == 0 {
		return run.Missing(run.NoAgents), ""
	}
	by := map[*watchers.Stage]run.Measure{}
	for i := range o.Stages {
		by[&o.Stages[i]] = cost(machines, o, &o.Stages[i])
	}
	last := most(o, func(s *watchers.Stage) bool { return by[s].Known() })
	if last == nil {
		return by[&o.Stages[len(o.Stages)-1]], ""
	}
	text := each(o, func(s *watchers.Stage) string {
		if !by[s].Known() {
			return ""
		}
		return fmt.Sprintf("%.2f us of %s events in %.1f s", by[s].Value, humanize.Comma(s.Deliveries), s.Length.Seconds())
	})
	return by[last], text
}

// cost is the processor time that the machines spent per delivery in a stage, in microseconds.
func cost(machines []*run.Machine, o *watchers.Outcome, s *watchers.Stage) run.Measure {
	switch {
	case s.Deliveries == 0 || s.Length <= 0:
		return unheard(o)
	case s.Slow != nil:
		return run.Missing("the deliveries to slow watchers are not among those that are counted")
	}
	from := s.Start.UnixNano()
	sum := run.Measured(0, s.Deliveries)
	for _, m := range machines {
		one := m.GrowthWithin(run.Span{From: from, To: from + int64(s.Length)}, run.Of(metric.CPUSeconds))
		if !one.Known() {
			return one
		}
		sum.Value += 1e6 * one.Value / float64(s.Deliveries)
	}
	return sum
}

// client returns the machine on which the watching process runs.
func client(r *run.Run) []*run.Machine { return []*run.Machine{&r.Machines.Client} }

// members returns the server machines; nil if agents did not run them.
func members(r *run.Run) (list []*run.Machine) {
	if r.Info.Unattended() {
		return nil
	}
	for i := range r.Machines.Servers {
		list = append(list, &r.Machines.Servers[i])
	}
	return list
}
