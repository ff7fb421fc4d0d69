// Package curve collects the points in sweeps: how a database's numbers depend on the swept rate,
// clients, data or members. A point is a step in one load or a separate run; trials are summarized
// at each point.
package curve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/workload"
)

// Sweep holds the curves of all databases over one swept key.
type Sweep struct {
	Key workload.SweepKey `json:"key"`
	// Unit is the swept values' unit: "requests/s", "clients", "bytes", "keys" or "members".
	Unit    string   `json:"unit"`
	Columns []Column `json:"columns"`
	Curves  []Curve  `json:"curves"`
}

// Column is one number at every point.
type Column struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
}

// Curve is one database with its points in the order in which they ran.
type Curve struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
	// First is the curve's first run.
	First *run.Run `json:"-"`
}

// Point is one value for the swept key.
type Point struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"`
	// Down is set on the way back.
	Down bool `json:"down,omitempty"`
	// Cells are in the same order as [Sweep.Columns].
	Cells []Cell `json:"cells"`
}

// Cell is a number at a point: the median over trials.
type Cell struct {
	// Text is the value with its unit, or the reason why it is missing.
	Text  string   `json:"text"`
	Value *float64 `json:"value"`
	// Low and High bound the trials; nil for a single trial. Spread formats them.
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	N       int      `json:"n"`
	Spread  string   `json:"spread,omitempty"`
	Missing string   `json:"missing,omitempty"`
	// AtLeast means that the value is only a lower bound.
	AtLeast bool `json:"at_least,omitempty"`
}

// Indexes of the columns shown in figures.
const (
	Throughput = 0
	P99        = 2
)

type definition struct {
	Column
	of   func(*run.Run, *run.Stage) run.Measure
	text func(float64) string
}

func definitions() []definition {
	unit := func(u string) func(float64) string { return func(v float64) string { return table.Significant(v) + u } }
	percentile := func(q float64) func(*run.Run, *run.Stage) run.Measure {
		return func(_ *run.Run, g *run.Stage) run.Measure { return g.Latency.Due.Quantile(q) }
	}
	const measured = " in the measured part of the point"
	return []definition{
		{Column{"throughput", "requests/s", "requests that ended ok per second" + measured},
			func(_ *run.Run, g *run.Stage) run.Measure { return g.Throughput.Average }, unit(" /s")},
		{Column{"p50 latency", "ms", "latency that half of the requests did not exceed"}, percentile(.50), unit(" ms")},
		{Column{"p99 latency", "ms", "latency that 99 % of the requests did not exceed"}, percentile(.99), unit(" ms")},
		{Column{"success", "%", "share of the requests that ended ok, out of all that were due (closed loop: sent)"},
			func(_ *run.Run, g *run.Stage) run.Measure { return g.Availability.Success }, table.PercentOf},
		{Column{"CPU per 1,000 requests", "s", "CPU time of all members' processes, divided by thousands of requests that ended ok," + measured},
			(*run.Run).CPUPer1000, unit(" s")},
		{Column{"memory", "bytes", "resident memory per server, averaged over the servers in each second; the highest second" + measured}, (*run.Run).ServerMemory, run.HumanSize},
		{Column{"size", "bytes", "size of the data directory after the run, mean over the members; single steps have none of their own"}, sizeOf, run.HumanSize},
	}
}

// sizeOf returns the data size at a member after a run. All steps in a run share it.
func sizeOf(r *run.Run, _ *run.Stage) run.Measure {
	if r.Info.Record.Swept.Key.Stepped() {
		return run.Inapplicable("the data directories are measured after the last step")
	}
	return r.Machines.Apparent
}

// Of returns the sweeps in a report's runs, in key order.
func Of(runs []*run.Run) (all []Sweep) {
	groups := trials.Groups(slices.DeleteFunc(slices.Clone(runs), func(r *run.Run) bool { return r.Info.Record.Swept == nil }))
	for _, key := range workload.SweepKeys() {
		s := Sweep{Key: key}
		for _, g := range groups {
			if g.Runs[0].Info.Record.Swept.Key == key {
				s.add(g)
			}
		}
		if len(s.Curves) == 0 {
			continue
		}
		for _, d := range definitions() {
			s.Columns = append(s.Columns, d.Column)
		}
		s.Unit = s.unit()
		for _, c := range s.Curves {
			if !key.Stepped() {
				slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) })
			}
		}
		all = append(all, s)
	}
	return all
}

// add adds the points in a group: all steps in a load, or one.
func (s *Sweep) add(g trials.Group) {
	first := g.Runs[0]
	swept := first.Info.Record.Swept
	if s.Key.Stepped() {
		c := Curve{Name: g.Title(), First: first}
		for _, stage := range first.Stages {
			p := Point{Value: stage.Rate[0], Text: run.RateNumber(stage.Rate[0]) + "/s", Down: stage.Down}
			if s.Key == workload.SweepClients {
				p.Value, p.Text = float64(stage.Clients), run.ClientsText(stage.Clients)
			}
			p.fill(g, stage)
			c.Points = append(c.Points, p)
		}
		s.Curves = append(s.Curves, c)
		return
	}
	name := nameOf(first)
	at := slices.IndexFunc(s.Curves, func(c Curve) bool { return c.Name == name })
	if at < 0 {
		at = len(s.Curves)
		s.Curves = append(s.Curves, Curve{Name: name, First: first})
	}
	p := Point{Value: float64(swept.Value), Text: swept.Text}
	if s.Key == workload.SweepMembers {
		p.Text = fmt.Sprintf("%d member%s", swept.Value, run.Plural(int(swept.Value)))
	}
	p.fill(g, first.Stages[run.Largest(first.Stages)])
	s.Curves[at].Points = append(s.Curves[at].Points, p)
}

// nameOf names the curve for a run that is a point: the database, the user's label, and a number if
// another run is the same point.
func nameOf(r *run.Run) string {
	name := r.Info.Record.Swept.Of + r.Info.Ran()
	if r.Info.Label != "" {
		name = r.Info.Label + " " + name
	}
	if r.Info.Repeat > 0 {
		name += fmt.Sprintf(" #%d", r.Info.Repeat+1)
	}
	return name
}

// fill summarizes the numbers from the same stage in all trials.
func (p *Point) fill(g trials.Group, like *run.Stage) {
	for _, d := range definitions() {
		spread, first := g.Measure(run.At(like, d.of))
		p.Cells = append(p.Cells, cellOf(d, spread, first))
	}
}

func cellOf(d definition, spread trials.Spread, first run.Measure) Cell {
	c := Cell{N: spread.N, Missing: first.Missing}
	switch {
	case first.Inapplicable:
		c.Text = "-"
	case !first.Known():
		c.Text = cmp.Or(first.Words, "not measured")
	default:
		c.Value, c.Text = &spread.Median, d.text(spread.Median)
		if first.AtLeast() {
			c.Text, c.AtLeast = ">= "+c.Text, true
		}
		if first.Marked(run.FewMark) {
			c.Text += " *"
		}
		if spread.N > 1 {
			c.Low, c.High = &spread.Low, &spread.High
			c.Spread = table.SpreadText(d.text(spread.Low), d.text(spread.High), spread)
		}
	}
	return c
}

// unit returns the unit of the swept values.
func (s *Sweep) unit() string {
	switch s.Key {
	case workload.SweepRate:
		return "requests/s"
	case workload.SweepPreload:
		inBytes := func(p Point) bool { return strings.HasSuffix(p.Text, "B") }
		if slices.ContainsFunc(s.Curves, func(c Curve) bool { return slices.ContainsFunc(c.Points, inBytes) }) {
			return "bytes"
		}
		return "keys"
	}
	return string(s.Key)
}

// Title names the varied key, as a heading.
func (s *Sweep) Title() string {
	switch s.Key {
	case workload.SweepRate:
		return "By rate"
	case workload.SweepPreload:
		return "By data before the load"
	}
	return "By " + string(s.Key)
}
