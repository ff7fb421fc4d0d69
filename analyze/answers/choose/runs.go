package choose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Of answers the need that the runs declare, or the given need if it is not nil. It returns nil
// without a need.
func Of(runs []*run.Run, marks []run.Mark, need *workload.Need) *Choice {
	for _, r := range runs {
		if need == nil && r.Info.Manifest != nil {
			need = r.Info.Manifest.Need
		}
	}
	if need == nil || len(runs) == 0 {
		return nil
	}
	var all []Database
	for _, g := range trials.Groups(runs) {
		all = append(all, databaseOf(g, marks, *need))
	}
	return Decide(*need, all, limits(runs))
}

// databaseOf collects the observations from the trials of one database.
func databaseOf(g trials.Group, marks []run.Mark, n workload.Need) Database {
	d := Database{Name: g.Title(), Trials: len(g.Runs)}
	for _, r := range g.Runs {
		for _, m := range marks {
			if m.Invalid && (m.Tag == r.Info.Tag || m.Tag == "") && d.Invalid == "" {
				d.Invalid = m.Code
			}
		}
		if r.Capacity != nil { // the search windows together are the answer
			d.add(r, n)
			continue
		}
		for _, stage := range r.Stages {
			if !stage.Latency.Rated() {
				if t := stage.Throughput.Average; t.Known() {
					d.Closed = max(d.Closed, t.Value)
				}
				continue
			}
			if stage.Rate[1] > 0 { // a changing rate
				continue
			}
			d.Steps = append(d.Steps, stepOf(r, stage, marks, n))
		}
	}
	return d
}

// add adds the capacity of a run if its search used the limits in the need and found one; otherwise
// it records why the run leaves the need open. A rate that was not held is not sustained. The
// bounds enclose all trials.
func (d *Database) add(r *run.Run, n workload.Need) {
	c, rate := r.Capacity.Result, r.CapacityRate()
	switch {
	case c.Latency != n.Latency || workload.Percentile(c.Quantile()) != n.At || c.Errors != n.Errors:
		d.Open = cmp.Or(d.Open, fmt.Sprintf("the limits of its search differ from the need: %s and at most %s errors", c.SLO(), c.Errors))
		return
	case !rate.Known():
		text := "its search found no capacity: " + cmp.Or(rate.Words, rate.Missing)
		if d.Trials > 1 {
			text = "not every trial found a capacity: " + cmp.Or(rate.Words, rate.Missing)
		}
		d.Open = cmp.Or(d.Open, text)
		return
	}
	one := Bounds{Rate: rate.Value, Low: rate.Low, High: rate.High}
	if c.Hold > 0 {
		one.Low, one.Unheld = min(one.Low, c.Held), c.Held == 0
	}
	if d.Capacity == nil {
		d.Capacity = &one
		return
	}
	d.Capacity.Low, d.Capacity.High = min(d.Capacity.Low, one.Low), max(d.Capacity.High, one.High)
	d.Capacity.Unheld = d.Capacity.Unheld || one.Unheld
}

func stepOf(r *run.Run, g *run.Stage, marks []run.Mark, n workload.Need) Step {
	return Step{
		Rate: g.Rate[0], Down: g.Down, Latency: g.Latency.Due.Quantile(n.At.Share()), Success: g.Availability.Success,
		CPU: r.ServerRate(g, metric.CPUSeconds), Disk: r.ServerRate(g, metric.WriteBytes), Memory: r.ServerMemory(g),
		Void: clientLimit(r, g, marks),
	}
}

// clientLimit returns the mark showing that the client limited a stage, or "". A mark on a step
// applies to the stage with that step, a stopped client to the stages in which it was stopped, and
// any other mark to the whole load.
func clientLimit(r *run.Run, g *run.Stage, marks []run.Mark) string {
	for _, m := range marks {
		if m.Tag != r.Info.Tag || !slices.Contains([]string{mark.Late, mark.Saturated, mark.Stopped}, m.Code) {
			continue
		}
		switch step := m.Step(); {
		case step > 0:
			if slices.Contains(g.Steps, step-1) {
				return m.Code
			}
		case m.Code != mark.Stopped || stoppedIn(r, g):
			return m.Code
		}
	}
	return ""
}

// stoppedIn reports whether the client was stopped during the measured windows of a stage. Many
// short stops, which are not listed one by one, count for every window.
func stoppedIn(r *run.Run, g *run.Stage) bool {
	stops := r.Info.Record.Stopped()
	return len(stops) == 0 || slices.ContainsFunc(r.SpansOf(g), func(s run.Span) bool {
		return slices.ContainsFunc(stops, func(stop results.Stretch) bool { return stop.Overlaps(time.Unix(0, s.From), time.Unix(0, s.To)) })
	})
}

// limits lists the limits that do not depend on the measured numbers.
func limits(runs []*run.Run) (list []string) {
	if slices.ContainsFunc(runs, func(r *run.Run) bool { return r.ClientShares() }) {
		list = append(list, "the client ran on a member's machine: they competed for its processors")
	}
	if slices.ContainsFunc(runs, func(r *run.Run) bool { text, _ := r.SharedHost(); return text != "" && len(r.Info.Record.Members) > 1 }) {
		list = append(list, "members shared a machine: several of them used its processors and disk, with no network between them")
	}
	if !slices.ContainsFunc(trials.Groups(runs), func(g trials.Group) bool { return len(g.Runs) > 1 }) {
		list = append(list, "each ran once: the spread between repetitions is not known")
	}
	if shortest := shortestStep(runs); shortest > 0 {
		list = append(list, fmt.Sprintf("steps were measured for %v: they do not show effects that build up over hours, such as compactions and the growth of the store", shortest))
	}
	var loads []string
	for _, r := range runs {
		loads = append(loads, table.LoadText(r))
	}
	if loads = run.Distinct(loads); len(loads) == 1 {
		list = append(list, "this holds only for this load: "+loads[0])
	} else {
		list = append(list, "this holds only for these loads: "+strings.Join(loads, "; "))
	}
	return list
}

// shortestStep returns the length of the shortest measured window.
func shortestStep(runs []*run.Run) time.Duration {
	var shortest time.Duration
	for _, r := range runs {
		for _, w := range r.Windows.Measured {
			if d := time.Duration(w.To - w.From).Round(time.Second); shortest == 0 || d < shortest {
				shortest = d
			}
		}
	}
	return shortest
}
