// Package metrics exposes the activity of an agent and its generator, in the form that Prometheus
// reads.
package metrics

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/pkg/load/exposition"
)

// Options name the exposed objects.
type Options struct {
	Agent *agent.Agent
	// Generator is nil if the agent issues no loads.
	Generator *generator.Server
	// Faults are the fault kinds the agent may apply.
	Faults  []string
	Version string
}

// Handler returns the endpoint.
func Handler(o Options) (http.Handler, error) { return exposition.Handler(newCollector(o)) }

// collector exports the agent state when it is scraped.
type collector struct {
	opts                            Options
	info, state, down, lasting, had *prometheus.Desc
	loadState                       *prometheus.Desc
	machines                        *exposition.Machines
	parts                           *exposition.Parts
}

func newCollector(o Options) *collector {
	o.Faults = slices.Clone(o.Faults)
	slices.Sort(o.Faults)
	o.Faults = slices.Compact(o.Faults)
	return &collector{
		opts:      o,
		info:      exposition.Desc("agent_info", "1, with the version of the agent.", "version"),
		state:     exposition.Desc("agent_session_state", "1 for the state of the session with a member, 0 for the others.", "state"),
		down:      exposition.Desc("agent_member_down", "1 while a fault keeps the member from running, else 0."),
		lasting:   exposition.Desc("agent_faults_lasting", "Faults of the session that were applied and are not over, of each kind that the agent may apply.", "kind"),
		had:       exposition.Desc("agent_faults_total", "Faults of the session that were applied, of each kind that the agent may apply.", "kind"),
		loadState: exposition.Desc("generator_session_state", "1 for the state of the session with a part of a load, 0 for the others.", "state"),
		machines:  exposition.NewMachines("database", "run", "machine"),
		parts:     exposition.NewParts("database", "run"),
	}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.info, c.state, c.down, c.lasting, c.had, c.loadState} {
		out <- d
	}
	c.machines.Describe(out)
	c.parts.Describe(out)
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		exposition.Send(out, d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.info, 1, c.opts.Version)
	a := c.opts.Agent.Seen()
	for _, state := range agent.States() {
		gauge(c.state, number(a.State == state), state)
	}
	gauge(c.down, number(a.Down))
	for _, kind := range c.opts.Faults {
		lasting, applied := a.Lasting(kind)
		gauge(c.lasting, float64(lasting), kind)
		exposition.Send(out, c.had, prometheus.CounterValue, float64(applied), kind)
	}
	if a.Sample != nil {
		c.machines.Send(out, a.Sample, a.Tag, a.Run, fmt.Sprintf("member %d", a.Member+1))
	}
	if c.opts.Generator == nil {
		return
	}
	g := c.opts.Generator.Seen()
	for _, state := range generator.States {
		gauge(c.loadState, number(g.State == state), state)
	}
	if g.Load != nil {
		c.parts.Send(out, g.Load, g.Tag, g.Run)
	}
	if g.Sample != nil {
		c.machines.Send(out, g.Sample, g.Tag, g.Run, fmt.Sprintf("generator %d", g.Part+1))
	}
}

// number returns 1 for true and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var _ prometheus.Collector = (*collector)(nil)
