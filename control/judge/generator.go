package judge

import (
	"fmt"
	"slices"
	"strings"

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
	Stops   *results.Stops
	// Steps are its parts of the steps: the clients, the counts and the delay are its own.
	Steps []Step
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
		if c := g.Clock; c != nil && c.Error > maxClockError {
			v.mark(results.MarkClock, false, "generator %s: its clock is known to %v only, so its seconds may begin that far from the others'", g.Name, c.Error)
		}
	}
	v.sharedGenerators()
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
