package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// Capacity is the metric for capacity searches. It decides alone: every other number of such a run
// describes its last window, whose rate differs from run to run.
const Capacity = "capacity"

// capacityMetric is the capacity estimate.
func capacityMetric() definition {
	return definition{name: Capacity, unit: "requests/s", higher: true, whole: (*run.Run).CapacityRate}
}

// CheckMetrics fails if a metric does not exist, or if the metrics cannot decide together.
func CheckMetrics(metrics []string) error {
	for _, m := range metrics {
		if !slices.Contains(Names(), m) {
			return fmt.Errorf("metric must be one of %s, got %q", strings.Join(Names(), ", "), m)
		}
	}
	for _, m := range alone() {
		if m != Capacity && len(metrics) > 1 && slices.Contains(metrics, m) {
			return fmt.Errorf("metric %s must be the only one, got %s: what it is of changes the other numbers", m, strings.Join(metrics, ", "))
		}
	}
	if len(metrics) > 1 && slices.Contains(metrics, Capacity) {
		return fmt.Errorf("metric %s must be the only one, got %s: the other numbers of a search describe its last window, at its own rate", Capacity, strings.Join(metrics, ", "))
	}
	return nil
}

// searchRefusals returns why capacity searches, or runs without one, cannot be compared by the
// deciding metrics.
func searchRefusals(metrics []string, runs []Recorded) []string {
	var searched, others []string
	for _, r := range runs {
		if r.Run.Capacity != nil {
			searched = append(searched, r.Run.Info.Tag)
		} else {
			others = append(others, r.Run.Info.Tag)
		}
	}
	switch byCapacity := slices.Contains(metrics, Capacity); {
	case byCapacity && len(others) > 0:
		return []string{"no capacity was searched for in " + strings.Join(others, ", ")}
	case !byCapacity && len(searched) > 0:
		return []string{fmt.Sprintf("%s searched for a capacity, so each of these runs ended at its own rate: --metric %s compares the capacities", strings.Join(searched, ", "), Capacity)}
	}
	return nil
}

// asked returns a search's settings as JSON by name, except those of the hold that follows it.
func asked(c *run.Capacity) map[string]json.RawMessage {
	one := c.Plan
	one.Hold = 0
	data, err := json.Marshal(one)
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

// unequal lists the settings that differ between runs. The rate of a search's last window is not a
// setting.
func unequal(runs []*run.Run, names map[string]string) []string {
	return slices.DeleteFunc(table.Unequal(runs, names), func(text string) bool {
		return runs[0].Capacity != nil && strings.HasPrefix(text, "rates: ")
	})
}

// intervalNote names the search with the widest capacity interval if that is wider than the margin.
func intervalNote(runs []Recorded, margin float64) []string {
	widest, of := margin, ""
	for _, r := range runs {
		if m := r.Run.CapacityRate(); m.Known() && m.Low > 0 {
			if half := math.Sqrt(m.High/m.Low) - 1; half > widest {
				widest, of = half, r.Run.Info.Tag
			}
		}
	}
	if of == "" {
		return nil
	}
	return []string{fmt.Sprintf("a single search knows its capacity to within %s (%s, 95 %%), less precisely than the margin of %s: this adds to the spread of the runs of a side", percentText(round(100*widest)), of, percentText(100*margin))}
}
