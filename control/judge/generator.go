package judge

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Generator is the evidence on one of the machines that issued a load together. Each is
// judged by itself, as the client of its part of the load.
type Generator struct {
	// Name is the address of its agent.
	Name string
	// Lost is why it did not issue its part to the end; "" if it did.
	Lost string
	// Pending is how many of its requests have no outcome.
	Pending int64
	Host    results.Host
	// Samples are its measurements, in control's clock.
	Samples []results.Sample
	Clock   *results.Clock
	// ClockSet is by how much its wall clock was set during the run.
	ClockSet time.Duration
	// StepClocks are of the steps that it had a part in.
	StepClocks []StepClock
	Stops      *results.Stops
	// Steps are its parts of the steps: the clients, the counts and the delay are its own.
	Steps []Step
}

// StepClock is a generator's clock in one step: the error of its offset when the step
// began, and how far it surely moved against control's until the step's end.
type StepClock struct {
	Index        int
	Error, Moved time.Duration
}

// generators marks those that were lost, or did not issue their part in time.
func (v *verdict) generators() {
	for _, g := range v.e.Generators {
		if g.Lost != "" {
			values := mark.Values{}
			if g.Pending > 0 {
				values["pending"] = float64(g.Pending)
			}
			v.mark(mark.GeneratorLost, true, values, mark.Words{"generator": g.Name, "why": inOneLine(g.Lost)})
		}
		if v.e.Run.Totals == nil {
			continue
		}
		own := v.of(g)
		own.client()
		own.stops()
		for _, s := range own.e.Steps {
			j := stepJudge{verdict: own, step: s, bounds: own.bounds()}
			j.late()
			j.clientDelay()
		}
		for _, m := range own.marks {
			words := mark.Words{"generator": g.Name}
			maps.Copy(words, m.Words)
			v.mark(m.Code, m.Invalid, m.Values, words)
		}
		v.generatorClock(g)
	}
	v.sharedGenerators()
}

// leastClockMove is the least move of a generator's clock that is marked: that by which a
// request is late.
const leastClockMove = time.Millisecond

// generatorClock marks a generator whose clock is not known well enough, or moved by more
// than its stated error after the comparison before a step.
func (v *verdict) generatorClock(g Generator) {
	known, moved := time.Duration(0), StepClock{}
	if g.Clock != nil {
		known = g.Clock.Error
	}
	for _, c := range g.StepClocks {
		known = max(known, c.Error)
		if c.Moved > max(c.Error, leastClockMove) && c.Moved > moved.Moved {
			moved = c
		}
	}
	words := mark.Words{"generator": g.Name}
	if known > maxClockError {
		v.mark(mark.Clock, false, mark.Values{"error_seconds": known.Seconds()}, words)
	}
	if moved.Moved > 0 {
		v.mark(mark.Clock, false, mark.Values{"moved_seconds": moved.Moved.Seconds(), "step": float64(moved.Index + 1), "error_seconds": moved.Error.Seconds()}, words)
	}
	if g.ClockSet.Abs() > max(known, leastClockMove) {
		v.mark(mark.Clock, false, mark.Values{"set_seconds": g.ClockSet.Seconds()}, words)
	}
}

// of is the verdict on a generator, as on a run of which it is the client.
func (v *verdict) of(g Generator) *verdict {
	run := *v.e.Run
	run.Stops = g.Stops
	return &verdict{e: Evidence{Run: &run, Steps: g.Steps, Client: g.Host, ClientSamples: g.Samples}}
}

// sharedGenerators marks generators that share a machine with a member or with each other.
func (v *verdict) sharedGenerators() {
	for i, g := range v.e.Generators {
		if g.Host.BootID == "" {
			continue
		}
		if v.of(g).sharedHost() {
			v.mark(mark.SharedHost, false, nil, mark.Words{"generator": g.Name})
		}
		var others []string
		for _, o := range v.e.Generators[i+1:] {
			if o.Host.BootID == g.Host.BootID {
				others = append(others, o.Name)
			}
		}
		before := slices.ContainsFunc(v.e.Generators[:i], func(o Generator) bool { return o.Host.BootID == g.Host.BootID })
		if len(others) > 0 && !before {
			v.mark(mark.SharedHost, false, nil, mark.Words{"generator": g.Name, "others": strings.Join(others, ", ")})
		}
	}
}
