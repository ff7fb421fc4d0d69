package capacity

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/workload"
)

// Sought is the capacity.
func (Half) Sought() abilities.Sought {
	return abilities.Sought{
		Name: "capacity", Meaning: "rate at which the required share of windows meets the latency limit; the rows below describe the last window of the search, at a rate that held",
		By: func(r *run.Run) bool { return r.Capacity != nil }, Number: (*run.Run).CapacityRate, Target: target, Asked: asked, Say: say,
	}
}

// target describes the conditions of the search; the rate is its result.
func target(r *run.Run) string {
	asked := r.Capacity.Plan
	return fmt.Sprintf("a search for the rate with %s in %v of windows, errors up to %v", asked.SLO(), asked.Share, asked.Errors)
}

// asked returns the search settings that must be equal.
func asked(r *run.Run) map[string]json.RawMessage {
	data, err := json.Marshal(r.Capacity.Plan.Sought())
	var all map[string]json.RawMessage
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

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

// say states the capacity in each column with its interval, whether a rate near it was held, and
// the number of searches that found no capacity.
func say(names []string, runs [][]*run.Run, requests string, order abilities.Order) string {
	first := runs[0][0]
	var parts []string
	for i, of := range runs {
		if limitsOf(of[0]) != limitsOf(first) {
			return "The searches had different limits, so the capacities are not compared"
		}
		parts = append(parts, found(trials.Group{Name: names[i], Runs: of}, requests))
	}
	text := "With " + first.Capacity.SLO() + " " + english.WordSeries(parts, "and")
	claims := order(func(ahead, ratio, behind string) string {
		return fmt.Sprintf("%s has %s times the capacity of %s", ahead, ratio, behind)
	})
	if claims != "" {
		text += "; " + claims
	}
	return text
}

// found states the search results in a column: "etcd sustained 952 writes a second (capacity
// 1,084/s, 952 to 1,215)".
func found(c trials.Group, requests string) string {
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
