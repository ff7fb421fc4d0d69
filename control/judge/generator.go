package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
			missing := "its requests from then on are missing"
			if g.Pending > 0 {
				missing += fmt.Sprintf(", and the outcomes of %d before", g.Pending)
			}
			v.mark(results.MarkGeneratorLost, true, "generator %s: %s; %s", g.Name, inOneLine(g.Lost), missing)
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
			m.Text = fmt.Sprintf("generator %s: %s", g.Name, m.Text)
			v.marks = append(v.marks, m)
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
	if known > maxClockError {
		v.mark(results.MarkClock, false, "generator %s: its clock is known to %v only, so its seconds may begin that far from the others'", g.Name, known)
	}
	if moved.Moved > 0 {
		v.mark(results.MarkClock, false, "generator %s: its clock moved by at least %v against control's during step %d, and was known to %v when the step began: its seconds moved with it",
			g.Name, moved.Moved.Round(time.Microsecond), moved.Index+1, moved.Error.Round(time.Microsecond))
	}
	if g.ClockSet.Abs() > max(known, leastClockMove) {
		v.mark(results.MarkClock, false, "generator %s: its wall clock was set by %v during the run: the times of its samples moved with it, those of its requests did not",
			g.Name, g.ClockSet.Round(time.Microsecond))
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
			v.mark(results.MarkSharedHost, false, "generator %s and at least one member share a machine: they compete for its processors, disk and network", g.Name)
		}
		var others []string
		for _, o := range v.e.Generators[i+1:] {
			if o.Host.BootID == g.Host.BootID {
				others = append(others, o.Name)
			}
		}
		before := slices.ContainsFunc(v.e.Generators[:i], func(o Generator) bool { return o.Host.BootID == g.Host.BootID })
		if len(others) > 0 && !before {
			v.mark(results.MarkSharedHost, false, "generators %s and %s share a machine: together they issue no more than one could", g.Name, strings.Join(others, ", "))
		}
	}
}
