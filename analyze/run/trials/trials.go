// Package trials finds runs that repeat one another and summarizes their numbers: the median, and
// how far the trials lie apart.
package trials

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// Group holds the repeated runs for one database, at least one, sorted by trial number. Name is the
// tag of the run that comes first in the report.
type Group struct {
	Name string
	Runs []*run.Run
}

// Groups groups a report's runs: trials from one experiment by one dbtester version belong
// together. Any other run is a group by itself.
func Groups(runs []*run.Run) (groups []Group) {
	for _, r := range runs {
		at := slices.IndexFunc(groups, func(g Group) bool { return repeats(g.Runs[0], r) })
		if at < 0 {
			groups = append(groups, Group{Name: r.Info.Tag, Runs: []*run.Run{r}})
			continue
		}
		groups[at].Runs = append(groups[at].Runs, r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Runs, func(a, b *run.Run) int { return trialOf(a) - trialOf(b) })
	}
	return groups
}

// repeats reports whether two runs are trials in one experiment.
func repeats(a, b *run.Run) bool {
	m, n := a.Info.Manifest, b.Info.Manifest
	return m != nil && n != nil && m != n && m.Trials > 1 && m.Trials == n.Trials && m.Title == n.Title && m.Seed == n.Seed &&
		m.Tool == n.Tool && bytes.Equal(m.Config, n.Config) && a.Info.Record.Tag == b.Info.Record.Tag && a.Info.Label == b.Info.Label
}

func trialOf(r *run.Run) int {
	if r.Info.Manifest == nil {
		return 0
	}
	return r.Info.Manifest.Trial
}

// Title is the group name, corrected by the versions that ran, as in [run.Info.Name].
func (g Group) Title() string {
	var ran []string
	for _, r := range g.Runs {
		ran = append(ran, r.Info.Ran())
	}
	return g.Name + strings.Join(run.Distinct(ran), "")
}

// Names maps run tags to group titles.
func Names(groups []Group) map[string]string {
	names := map[string]string{}
	for _, g := range groups {
		for _, r := range g.Runs {
			names[r.Info.Tag] = g.Title()
		}
	}
	return names
}

// Measure summarizes one number over the runs in the group.
func (g Group) Measure(of func(*run.Run) run.Measure) (Spread, run.Measure) {
	var values []float64
	first := of(g.Runs[0])
	for _, r := range g.Runs {
		if m := of(r); m.Known() {
			if len(values) == 0 {
				first = m
			}
			values = append(values, m.Value)
		}
	}
	return SpreadOf(values), first
}

// Spread is the median of N values with its uncertainty.
type Spread struct {
	Median float64
	// Low and High are the extremes if there are fewer than [MinInterval] values, otherwise the
	// bounds of an interval that contains the true median with at least 95 % probability.
	Low, High float64
	N         int
}

// MinInterval is the fewest values whose extremes contain the true median with 95 % probability,
// whatever their distribution: 1 - 2/2^6 = 96.9 %.
const MinInterval = order.Least

// SpreadOf returns the spread of values, which may be unsorted.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	m := order.Of(values)
	return Spread{Median: m.Is, Low: m.Low, High: m.High, N: m.N}
}

// Interval reports whether Low and High bound the median with 95 % probability.
func (s Spread) Interval() bool { return s.N >= MinInterval }

// Doubt describes Low and High in words; "" for a single value.
func (s Spread) Doubt() string {
	switch {
	case s.N < 2:
		return ""
	case s.Interval():
		return fmt.Sprintf("95 %% interval of the median, %d trials", s.N)
	}
	return fmt.Sprintf("least and most of %d trials", s.N)
}
