// Package trials finds the runs that repeat one another, and sums up their numbers: the
// median, and how far the trials lie apart.
package trials

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Group holds the runs of one database that repeat one another, at least one, by their
// trials' numbers. Name is the tag of the first of them in the report.
type Group struct {
	Name string
	Runs []*run.Run
}

// Groups sorts the runs of a report: the trials of one experiment by one version of
// dbtester belong together. Any other run is a group of its own.
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

// repeats reports whether two runs are trials of one experiment.
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

// Title is the name of the group with the versions that ran in place of what it says, as
// [run.Info.Name] has it.
func (g Group) Title() string {
	var ran []string
	for _, r := range g.Runs {
		ran = append(ran, r.Info.Ran())
	}
	return g.Name + strings.Join(run.Distinct(ran), "")
}

// Names maps the tag of every run to the title of its group.
func Names(groups []Group) map[string]string {
	names := map[string]string{}
	for _, g := range groups {
		for _, r := range g.Runs {
			names[r.Info.Tag] = g.Title()
		}
	}
	return names
}

// Manifests returns the manifests of the group's runs, each once.
func (g Group) Manifests() (list []*results.Manifest) {
	for _, r := range g.Runs {
		if m := r.Info.Manifest; m != nil && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// Measure sums up one number of each run of the group.
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

// Spread is the median of N values, and how sure it is.
type Spread struct {
	Median float64
	// Low and High are the least and the most of fewer than [MinInterval] values, else
	// the bounds of an interval that holds the true median with at least 95 %
	// probability.
	Low, High float64
	N         int
}

// MinInterval is the least number of values whose extremes hold the true median with
// 95 % probability, whatever its distribution: 1 - 2/2^6 = 96.9 %.
const MinInterval = 6

// SpreadOf returns the spread of values, in any order.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return Spread{}
	}
	s := Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, N: n}
	cut := 0
	if n >= MinInterval {
		cut = cutOf(n)
	}
	s.Low, s.High = sorted[cut], sorted[n-1-cut]
	return s
}

// cutOf returns how many values may be cut from each end of n sorted ones so that the
// rest still holds the median with 95 % probability: the number of values below the
// median is binomial, with a half each.
func cutOf(n int) int {
	tail, term := 0.0, 1.0
	for range n {
		term /= 2
	}
	for k := range n {
		if tail += term; tail > 0.025 { // P(at most k values lie below)
			return max(k-1, 0)
		}
		term *= float64(n-k) / float64(k+1)
	}
	return 0
}

// Interval reports whether Low and High bound the median with 95 % probability.
func (s Spread) Interval() bool { return s.N >= MinInterval }

// Doubt names what Low and High are: "" for a single value.
func (s Spread) Doubt() string {
	switch {
	case s.N < 2:
		return ""
	case s.Interval():
		return fmt.Sprintf("95 %% interval of the median, %d trials", s.N)
	}
	return fmt.Sprintf("least and most of %d trials", s.N)
}
