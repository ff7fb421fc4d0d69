package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// Sought reports whether a metric is a rate that runs were sent to find.
func Sought(metrics []string) bool {
	return slices.ContainsFunc(all.Sought(), func(s abilities.Sought) bool { return slices.Contains(metrics, s.Name) })
}

// CheckMetrics fails if a metric does not exist, or if the metrics cannot decide together.
func CheckMetrics(metrics []string) error {
	for _, m := range metrics {
		if !slices.Contains(Names(), m) {
			return fmt.Errorf("metric must be one of %s, got %q", strings.Join(Names(), ", "), m)
		}
	}
	for _, g := range gaugers() {
		if name, _ := g.Gauge(); len(metrics) > 1 && slices.Contains(metrics, name) {
			return fmt.Errorf("metric %s must be the only one, got %s: what it is of changes the other numbers", name, strings.Join(metrics, ", "))
		}
	}
	for _, s := range all.Sought() {
		if len(metrics) > 1 && slices.Contains(metrics, s.Name) {
			return fmt.Errorf("metric %s must be the only one, got %s: the other numbers of a search describe its last window, at its own rate", s.Name, strings.Join(metrics, ", "))
		}
	}
	return nil
}

// searchRefusals returns why searches, or runs without one, cannot be compared by the deciding
// metrics.
func searchRefusals(metrics []string, runs []Recorded) (reasons []string) {
	for _, s := range all.Sought() {
		var searched, others []string
		for _, r := range runs {
			if s.By(r.Run) {
				searched = append(searched, r.Run.Info.Tag)
			} else {
				others = append(others, r.Run.Info.Tag)
			}
		}
		switch by := slices.Contains(metrics, s.Name); {
		case by && len(others) > 0:
			reasons = append(reasons, fmt.Sprintf("no %s was searched for in %s", s.Name, strings.Join(others, ", ")))
		case !by && len(searched) > 0:
			reasons = append(reasons, fmt.Sprintf("%s searched for a %s, so each of these runs ended at its own rate: --metric %s compares the %s", strings.Join(searched, ", "), s.Name, s.Name, english.PluralWord(2, s.Name, "")))
		}
	}
	return reasons
}

// unequal lists the settings that differ between runs. The rate in the last window of a search is
// not a setting.
func unequal(runs []*run.Run, names map[string]string) []string {
	return slices.DeleteFunc(table.Unequal(runs, names), func(text string) bool {
		return all.SoughtBy(runs[0]) != nil && strings.HasPrefix(text, "rates: ")
	})
}

// intervalNote names the search with the widest interval if that is wider than the margin.
func intervalNote(runs []Recorded, margin float64) []string {
	widest, of, sought := margin, "", ""
	for _, r := range runs {
		s := all.SoughtBy(r.Run)
		if s == nil {
			continue
		}
		if m := s.Number(r.Run); m.Known() && m.Low > 0 {
			if half := math.Sqrt(m.High/m.Low) - 1; half > widest {
				widest, of, sought = half, r.Run.Info.Tag, s.Name
			}
		}
	}
	if of == "" {
		return nil
	}
	return []string{fmt.Sprintf("a single search knows its %s to within %s (%s, 95 %%), less precisely than the margin of %s: this adds to the spread of the runs of a side", sought, percentText(round(100*widest)), of, percentText(100*margin))}
}
