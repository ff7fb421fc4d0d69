package answers

import (
	"fmt"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/workload"
)

// searched reports whether any run searched for a capacity.
func (s *screen) searched() bool { return s.any(func(r *run.Run) bool { return r.Capacity != nil }) }

// limits are the conditions that define a capacity. Capacities under different limits are not
// compared.
type limits struct {
	latency           time.Duration
	at, errors, share workload.Percent
}

func limitsOf(r *run.Run) limits {
	if r.Capacity == nil {
		return limits{}
	}
	c := r.Capacity.Plan
	return limits{c.Latency, c.At, c.Errors, c.Share}
}

// sayCapacity states each column's capacity with its interval, whether a rate near it was held, and
// how many searches found none.
func (s *screen) sayCapacity() string {
	first := s.columns[0].Runs[0]
	if !s.every(func(r *run.Run) bool { return limitsOf(r) == limitsOf(first) }) {
		return "The searches had different limits, so the capacities are not compared"
	}
	var parts []string
	for _, c := range s.columns {
		parts = append(parts, c.capacityText(s.requests()))
	}
	text := "With " + first.Capacity.SLO() + " " + names(parts)
	order := s.told(s.all(), func(c Claim) string {
		return fmt.Sprintf("%s has %s times the capacity of %s", c.Ahead, table.Ratio(c.Ratio), c.Behind)
	})
	if order != "" {
		text += "; " + order
	}
	return text
}

// capacityText states the results of a column's searches: "etcd sustained 952 writes a second
// (capacity 1,084/s, 952 to 1,215)".
func (c Column) capacityText(requests string) string {
	spread, first := c.Measure((*run.Run).CapacityRate)
	if spread.N == 0 {
		return fmt.Sprintf("no capacity was found for %s (%s)", c.Name, first.Words)
	}
	low, high := spread.Low, spread.High
	if spread.N == 1 {
		low, high = first.Low, first.High
	}
	text := fmt.Sprintf("capacity %s/s, %s to %s", run.RateNumber(spread.Median), run.RateNumber(low), run.RateNumber(high))
	if missed := len(c.Runs) - spread.N; missed > 0 {
		text += fmt.Sprintf("; %d of %d searches found none", missed, len(c.Runs))
	}
	held, one := c.Measure((*run.Run).CapacityHeld)
	switch {
	case held.N > 0 && held.N == len(c.Runs):
		return fmt.Sprintf("%s sustained %s %s a second (%s)", c.Name, run.RateNumber(held.Low), requests, text)
	case one.Inapplicable:
		return fmt.Sprintf("%s passed at %s %s a second and was not asked to hold that rate (%s)", c.Name, run.RateNumber(spread.Median), requests, text)
	}
	return fmt.Sprintf("%s held no rate in %d of %d trials (%s)", c.Name, len(c.Runs)-held.N, len(c.Runs), text)
}
