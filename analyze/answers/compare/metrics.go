package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// definitions lists the stage metrics in report order.
func definitions() []definition {
	list := []definition{{name: "throughput", unit: "requests/s", higher: true, of: func(s *run.Stage) run.Measure { return s.Throughput.Average }}}
	for _, p := range []struct {
		name  string
		share float64
	}{{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p999", .999}} {
		list = append(list, definition{name: p.name, unit: "ms", of: func(s *run.Stage) run.Measure { return s.Latency.Due.Quantile(p.share) }})
	}
	return list
}

// Names returns all metric names.
func Names() (names []string) {
	for _, d := range definitions() {
		names = append(names, d.name)
	}
	return append(names, alone()...)
}

// Defaults returns the metrics that decide by default.
func Defaults() []string { return []string{"throughput", "p99"} }

// rowsOf returns the rows for comparing runs like first: the rate for searches, the numbers of an
// acting ability, otherwise each metric at each stage.
func rowsOf(first *run.Run) (rows []row) {
	if s := all.SoughtBy(first); s != nil {
		return []row{{definition: definition{name: s.Name, unit: "requests/s", higher: true, whole: s.Number}}}
	}
	if g := gaugerOf(first); g != nil {
		return gaugeRows(g, first)
	}
	for stage, s := range first.Stages {
		for _, def := range definitions() {
			rows = append(rows, row{definition: def, stage: stage, label: s.Label})
		}
	}
	return rows
}

// measure returns the number for one run.
func (r *row) measure(one *run.Run) run.Measure {
	switch {
	case r.whole != nil:
		return r.whole(one)
	case r.stage < len(one.Stages):
		return r.of(one.Stages[r.stage])
	}
	return run.Missing("no such step")
}

// name is unique within a report.
func (r *row) name() string {
	if r.label == "" {
		return r.definition.name
	}
	return fmt.Sprintf("%s (%s)", r.definition.name, r.label)
}

func (r *row) values(runs []Recorded) column {
	c := column{values: map[*run.Run]float64{}}
	for _, one := range runs {
		m := r.measure(one.Run)
		if m.Known() && m.Value <= 0 {
			m = run.Missing("it is %g", m.Value)
		}
		if !m.Known() {
			c.missing = append(c.missing, fmt.Sprintf("%s (%s)", one.Run.Info.Tag, m.Missing))
			continue
		}
		c.values[one.Run] = m.Value
		c.order = append(c.order, one.Run)
	}
	return c
}

// list returns the values in run order.
func (c *column) list() (values []float64) {
	for _, r := range c.order {
		values = append(values, c.values[r])
	}
	return values
}

func (c *column) median() float64 {
	sorted := slices.Sorted(slices.Values(c.list()))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// sample returns the logarithms, as pairs if the runs are paired and otherwise as groups.
func (r *row) sample(pairs []pair) abtest.Sample {
	if pairs != nil {
		var d abtest.Pairs
		for _, p := range pairs {
			d = append(d, math.Log(r.b.values[p.b])-math.Log(r.a.values[p.a]))
		}
		return d
	}
	var g abtest.Groups
	for _, v := range r.a.list() {
		g.A = append(g.A, math.Log(v))
	}
	for _, v := range r.b.list() {
		g.B = append(g.B, math.Log(v))
	}
	return g
}
