package observation

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Totals are the observations over a whole load, by group name and value name. Values that were
// never observed are absent.
type Totals map[string]map[string]Total

// Total holds the observations for one value over a whole load.
type Total struct {
	// N counts the observations.
	N int64 `json:"n"`
	// Value is the sum, the maximum or the minimum; for times the sum in nanoseconds.
	Value int64 `json:"value"`
	// Longest and the percentiles are only for times. Percentiles are 0 if there are too few
	// times.
	Longest time.Duration `json:"longest_ns,omitempty"`
	P50     time.Duration `json:"p50_ns,omitempty"`
	P99     time.Duration `json:"p99_ns,omitempty"`
}

// Total returns the totals of g over seconds, by value name.
func (g Group) Total(seconds []Second) map[string]Total {
	all := newSums(g)
	all.add(seconds)
	return all.totals()
}

// Text formats the total of v: a number with its unit, or times in milliseconds.
func (t Total) Text(v Value) string {
	switch {
	case v.Merging == Times:
	case v.Unit == "bytes":
		return humanize.Bytes(uint64(max(t.Value, 0)))
	default:
		return humanize.Comma(t.Value) + " " + v.Unit
	}
	parts := []string{fmt.Sprintf("%d", t.N)}
	for _, p := range []struct {
		name string
		is   time.Duration
	}{{"p50", t.P50}, {"p99", t.P99}, {"longest", t.Longest}} {
		if p.is > 0 {
			parts = append(parts, fmt.Sprintf("%s %.4f ms", p.name, float64(p.is)/1e6))
		}
	}
	return strings.Join(parts, ", ")
}
