// Package choose answers which databases meet a need: a request rate within limits on latency and
// errors. It also answers how much headroom each has, its cost at that load, and the limits of the
// runs. It is pure: observations in, answers out.
package choose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/workload"
)

// Step has the observations from one step in one trial at a rate.
type Step struct {
	// Rate is in due requests per second, above 0. Down means the way back of a sweep.
	Rate float64
	Down bool
	// Latency is the response time in ms at the percentile in the need. Success is the percentage
	// of due requests that ended ok.
	Latency, Success run.Measure
	// CPU is in cores and Disk in bytes per second, both over all members. Memory is in bytes per
	// member.
	CPU, Memory, Disk run.Measure
	// Void explains why a failed step does not count against the database: the client was the
	// limit. It is "" if the failure counts.
	Void string
}

// Bounds enclose the rate that a search found a database to sustain, in requests per second.
type Bounds struct {
	Rate, Low, High float64
	// Unheld means that a hold was requested but at least one trial held no rate. Low is 0 in that
	// case.
	Unheld bool
}

// Database collects the observations about a database from all trials.
type Database struct {
	Name   string
	Trials int
	// Steps are the steps with a rate from all trials. Closed is the throughput of the busiest
	// closed loop, or 0.
	Steps  []Step
	Closed float64
	// Capacity is nil without a search that found a capacity. Open is the reason why the searches
	// leave a need open even if some found a capacity; "" if they do not.
	Capacity *Bounds
	Open     string
	// Invalid is the reason why the numbers must not be used; "" if they may be.
	Invalid string
}

// Outcome states whether a need is met.
type Outcome string

// Unknown means that the runs do not answer the question.
const (
	Met     Outcome = "met"
	NotMet  Outcome = "not met"
	Unknown Outcome = "not known"
)

// Choice answers a need for all databases in a report.
type Choice struct {
	Need workload.Need `json:"need"`
	// Asked describes the need.
	Asked string `json:"asked"`
	// Outcome is met if any database meets the need, and not met if no database does.
	Outcome Outcome  `json:"outcome"`
	Verdict string   `json:"verdict"`
	Answers []Answer `json:"answers"`
	// Limits list the questions that the runs leave open.
	Limits []string `json:"limits"`
}

// Answer states whether one database meets the need, and why.
type Answer struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Why explains the outcome.
	Why string `json:"why"`
	// Low is the rate up to which the database sustained every rate; High is the rate from which it
	// sustained no rate. Either is nil if there is no such rate.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Headroom expresses both as multiples of the need.
	Headroom string `json:"headroom"`
	// At is the rate of the step whose costs are given, or "".
	At     string `json:"at"`
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
	Disk   string `json:"disk"`
}

// rateState combines all observations at one rate.
type rateState struct {
	rate           float64
	passed, failed int
	why            string // reason for the first failure
	passing        []Step
}

// Decide answers a need. It appends its own limits to those of the runs.
func Decide(n workload.Need, all []Database, limits []string) *Choice {
	c := &Choice{Need: n, Asked: Asked(n), Limits: append([]string{}, limits...)}
	for _, d := range all {
		c.Answers = append(c.Answers, answer(n, d))
	}
	c.Outcome = c.outcome()
	c.Verdict = c.verdict()
	for _, d := range all {
		for _, s := range d.Steps {
			if s.Latency.Marked(run.FewMark) {
				c.Limits = append(c.Limits, fmt.Sprintf("%s: at %s/s too few requests ran, so the %s depends on chance", d.Name, run.RateNumber(s.Rate), n.At))
				break
			}
		}
	}
	return c
}

// Asked describes a need in words.
func Asked(n workload.Need) string {
	return fmt.Sprintf("%s/s with %s <= %v and at most %s errors", run.RateNumber(n.Rate), n.At, n.Latency, n.Errors)
}

// fails returns why a step misses the limits, or "" if it meets them.
func fails(n workload.Need, s Step) string {
	limit := float64(n.Latency) / 1e6
	switch l, bad := s.Latency, 100-s.Success.Value; {
	case s.Success.Known() && bad > float64(n.Errors)+1e-9:
		return fmt.Sprintf("%s %% of the requests were not answered ok", table.Significant(bad))
	case !l.Known():
		return string(n.At) + " is not known: " + l.Missing
	case l.AtLeast():
		return fmt.Sprintf("%s was at least %s ms", n.At, table.Significant(l.Value))
	case l.Value > limit:
		return fmt.Sprintf("%s was %s ms", n.At, table.Significant(l.Value))
	}
	return ""
}

// states combines the steps by rate, in ascending order.
func states(n workload.Need, steps []Step) (all []rateState) {
	for _, s := range steps {
		why := fails(n, s)
		if why != "" && s.Void != "" {
			continue
		}
		at := slices.IndexFunc(all, func(r rateState) bool { return r.rate == s.Rate })
		if at < 0 {
			at = len(all)
			all = append(all, rateState{rate: s.Rate})
		}
		r := &all[at]
		if why != "" {
			r.failed++
			if s.Down {
				why += " on the way back"
			}
			r.why = cmp.Or(r.why, why)
			continue
		}
		r.passed++
		r.passing = append(r.passing, s)
	}
	slices.SortFunc(all, func(a, b rateState) int { return cmp.Compare(a.rate, b.rate) })
	return all
}

// sustained returns the rate up to which every observation passed, or 0, and the rate from which
// every observation failed, or +Inf.
func sustained(all []rateState) (low, high float64) {
	high = math.Inf(1)
	for _, r := range all {
		if r.failed > 0 {
			break
		}
		low = r.rate
	}
	for _, r := range slices.Backward(all) {
		if r.passed > 0 {
			break
		}
		high = r.rate
	}
	return low, high
}

func answer(n workload.Need, d Database) Answer {
	a := Answer{Name: d.Name, Outcome: Unknown, CPU: "-", Memory: "-", Disk: "-", Headroom: "-"}
	rates := states(n, d.Steps)
	low, high := sustained(rates)
	from := "steps"
	if d.Capacity != nil {
		low, high, from = d.Capacity.Low, d.Capacity.High, "its capacity"
	}
	switch {
	case d.Invalid != "":
		a.Why = "its numbers are not valid: " + d.Invalid
		return a
	case d.Open != "":
		a.Why = d.Open
		return a
	case d.Capacity == nil && len(rates) == 0:
		a.Why = nothing(d)
		return a
	case low >= n.Rate:
		a.Outcome = Met
		a.Why = fmt.Sprintf("it sustained %s/s", run.RateNumber(low))
	case high <= n.Rate:
		a.Outcome = NotMet
		a.Why = fmt.Sprintf("it did not sustain %s/s", run.RateNumber(high))
	}
	if from == "steps" {
		a.Why = a.explained(n, d.Steps, rates, low, high)
	} else if a.Outcome == Unknown {
		a.Why = unsure(d.Capacity)
	}
	if low > 0 {
		a.Low = &low
	}
	if !math.IsInf(high, 1) {
		a.High = &high
	}
	a.Headroom = headroom(n.Rate, low, high)
	a.cost(n, rates)
	return a
}

// unsure explains why a capacity neither meets nor fails the need.
func unsure(c *Bounds) string {
	if c.Unheld {
		return fmt.Sprintf("its capacity is about %s/s, but neither that rate nor any lower rate that was tried was held", run.RateNumber(c.Rate))
	}
	return fmt.Sprintf("the need lies between the bounds of its capacity, %s/s and %s/s", run.RateNumber(c.Low), run.RateNumber(c.High))
}

// nothing explains why no step shows anything.
func nothing(d Database) string {
	for _, s := range d.Steps {
		if s.Void != "" {
			return "the client was the limit: " + s.Void
		}
	}
	if d.Closed > 0 {
		return fmt.Sprintf("its clients sent as fast as they were answered (%s/s), which does not show the latency at a given rate: give a rate or a sweep", run.RateNumber(d.Closed))
	}
	return "no step had a rate"
}

// explained explains why steps lead to the outcome.
func (a *Answer) explained(n workload.Need, steps []Step, rates []rateState, low, high float64) string {
	at := slices.IndexFunc(rates, func(r rateState) bool { return r.failed > 0 })
	above := slices.IndexFunc(rates, func(r rateState) bool { return at >= 0 && r.rate > rates[at].rate && r.passed > 0 })
	switch {
	case a.Outcome == Met:
		return a.Why
	case at < 0 && voidAt(n, steps) > 0:
		return fmt.Sprintf("it sustained %s/s, and at %s/s the client was the limit", run.RateNumber(low), run.RateNumber(voidAt(n, steps)))
	case at < 0:
		return fmt.Sprintf("no step ran at %s/s or above; it sustained %s/s", run.RateNumber(n.Rate), run.RateNumber(low))
	case a.Outcome == NotMet:
		at = slices.IndexFunc(rates, func(r rateState) bool { return r.rate == high })
		return fmt.Sprintf("at %s/s %s", run.RateNumber(rates[at].rate), rates[at].why)
	case rates[at].passed > 0:
		r := rates[at]
		return fmt.Sprintf("at %s/s %d of %d steps passed; in the others %s", run.RateNumber(r.rate), r.passed, r.passed+r.failed, r.why)
	case above >= 0:
		return fmt.Sprintf("at %s/s %s, although steps at %s/s passed", run.RateNumber(rates[at].rate), rates[at].why, run.RateNumber(rates[above].rate))
	case voidAt(n, steps) > low && voidAt(n, steps) < rates[at].rate:
		return fmt.Sprintf("at %s/s %s, and at %s/s the client was the limit", run.RateNumber(rates[at].rate), rates[at].why, run.RateNumber(voidAt(n, steps)))
	case low == 0:
		return fmt.Sprintf("at %s/s %s, and no step ran at %s/s or below", run.RateNumber(rates[at].rate), rates[at].why, run.RateNumber(n.Rate))
	}
	return fmt.Sprintf("it sustained %s/s but not %s/s; no step ran between them", run.RateNumber(low), run.RateNumber(rates[at].rate))
}

// voidAt returns the lowest rate at which a step failed because of the client, or 0.
func voidAt(n workload.Need, steps []Step) (lowest float64) {
	for _, s := range steps {
		if s.Void != "" && fails(n, s) != "" && (lowest == 0 || s.Rate < lowest) {
			lowest = s.Rate
		}
	}
	return lowest
}

// headroom formats the sustained rates as multiples of the need.
func headroom(need, low, high float64) string {
	times := func(rate float64) string { return table.Ratio(rate / need) }
	switch {
	case low == 0 && math.IsInf(high, 1):
		return "-"
	case low == 0:
		return "below " + times(high) + " x"
	case math.IsInf(high, 1):
		return "at least " + times(low) + " x"
	}
	return times(low) + " .. " + times(high) + " x"
}

// cost takes the costs from the lowest sustained rate at or above the need.
func (a *Answer) cost(n workload.Need, rates []rateState) {
	at := slices.IndexFunc(rates, func(r rateState) bool { return r.rate >= n.Rate && r.passed > 0 && r.failed == 0 })
	if at < 0 {
		return
	}
	r := rates[at]
	a.At = run.RateNumber(r.rate) + "/s"
	median := func(of func(Step) run.Measure, text func(float64) string) string {
		var values []float64
		for _, s := range r.passing {
			if m := of(s); m.Known() {
				values = append(values, m.Value)
			}
		}
		if len(values) == 0 {
			return "not measured"
		}
		return text(trials.SpreadOf(values).Median)
	}
	a.CPU = median(func(s Step) run.Measure { return s.CPU }, func(v float64) string { return table.Significant(v) + " cores" })
	a.Memory = median(func(s Step) run.Measure { return s.Memory }, run.HumanSize)
	a.Disk = median(func(s Step) run.Measure { return s.Disk }, func(v float64) string { return run.HumanSize(v) + "/s" })
}

func (c *Choice) outcome() Outcome {
	has := func(o Outcome) bool {
		return slices.ContainsFunc(c.Answers, func(a Answer) bool { return a.Outcome == o })
	}
	switch {
	case has(Met):
		return Met
	case has(Unknown), len(c.Answers) == 0:
		return Unknown
	}
	return NotMet
}

// names returns the databases with an outcome, highest sustained rate first.
func (c *Choice) names(o Outcome) (names []string) {
	low := func(a Answer) float64 {
		if a.Low == nil {
			return 0
		}
		return *a.Low
	}
	sorted := slices.Clone(c.Answers)
	slices.SortStableFunc(sorted, func(a, b Answer) int { return cmp.Compare(low(b), low(a)) })
	for _, a := range sorted {
		if a.Outcome == o {
			names = append(names, a.Name)
		}
	}
	return names
}

// verdict states the answer in up to three sentences.
func (c *Choice) verdict() string {
	met, not, unknown := c.names(Met), c.names(NotMet), c.names(Unknown)
	var parts []string
	if len(met) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s %s.", listed(met), verb(met, "meets", "meet"), c.Asked))
	}
	if len(not) > 0 {
		text := fmt.Sprintf("%s %s not.", listed(not), verb(not, "does", "do"))
		if len(met) == 0 {
			text = fmt.Sprintf("%s %s not meet %s.", listed(not), verb(not, "does", "do"), c.Asked)
		}
		parts = append(parts, text)
	}
	if len(unknown) > 0 {
		text := fmt.Sprintf("It is not known whether %s %s.", listed(unknown), verb(unknown, "does", "do"))
		if len(met)+len(not) == 0 {
			text = fmt.Sprintf("It is not known whether %s %s %s.", listed(unknown), verb(unknown, "meets", "meet"), c.Asked)
		}
		parts = append(parts, text)
	}
	if len(met) > 1 {
		at := slices.IndexFunc(c.Answers, func(a Answer) bool { return a.Name == met[0] })
		if first, second := c.Answers[at], c.Answers[slices.IndexFunc(c.Answers, func(a Answer) bool { return a.Name == met[1] })]; *first.Low > *second.Low {
			parts = append(parts, fmt.Sprintf("%s has the most headroom: %s.", first.Name, first.Headroom))
		}
	}
	return strings.Join(parts, " ")
}

func verb(names []string, one, several string) string {
	if len(names) == 1 {
		return one
	}
	return several
}

// listed joins names: "a, b and c".
func listed(names []string) string { return english.WordSeries(names, "and") }
