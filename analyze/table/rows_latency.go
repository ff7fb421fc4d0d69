package table

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// latency prints one latency for each stage.
func latency(get func(*run.Latency) run.Measure) func(*run.Run) Cell {
	return byStage(func(g *run.Stage) Cell { return cellOf(get(&g.Latency), millisText) })
}

// bounded prints one latency for each stage, and marks lower bounds.
func bounded(get func(*run.Latency) run.Measure) func(*run.Run) Cell {
	return byStage(func(g *run.Stage) Cell {
		m := get(&g.Latency)
		return cellOf(m, func(v float64) string { return atLeast(m) + millisText(v) })
	})
}

// atLeast is the sign for a lower bound.
func atLeast(m run.Measure) string {
	if m.AtLeast() {
		return ">= "
	}
	return ""
}

func fastest(l *run.Latency) run.Measure { return l.Due.Min }
func slowest(l *run.Latency) run.Measure { return l.Due.Max }

// mean and deviation describe ok requests only. Classic files hold no separate distribution for
// these.
func mean(l *run.Latency) run.Measure      { return ended(l).Mean }
func deviation(l *run.Latency) run.Measure { return ended(l).SD }

func ended(l *run.Latency) *run.Distribution {
	if l.OK.N.Inapplicable {
		return l.Due
	}
	return l.OK
}

// Latency populations.
const (
	ofDue = " of all requests that were due (closed loop: sent) in the measured window"
	ofOK  = " of the measured requests that ended ok"
	timed = "; timed from due with a rate, else from sent"
	ranks = timed + "; requests that were not answered rank above all others. At the rank of an unknown or unsent request, the row has >= x, where x is the value at that rank among the latencies of answered requests and the waiting times of requests that were given up. At the rank of a failed or shed request, it says not answered"
)

func latencyRows() []Row {
	return []Row{
		{Name: "FASTEST-LATENCY", Unit: "ms", Definition: "shortest latency" + ofDue + ranks, Cell: bounded(fastest)},
		{Name: "AVG-LATENCY", Unit: "ms", Definition: "sum of latencies / number" + ofOK + timed, Cell: latency(mean)},
		{Name: "SLOWEST-LATENCY", Unit: "ms", Definition: "longest latency" + ofDue + ranks, Cell: bounded(slowest)},
	}
}

// percentiles are the quantiles in the table. The classic tables end at p99.9.
var percentiles = [...]struct {
	name string
	q    float64
}{{"p10", .10}, {"p25", .25}, {"p50", .50}, {"p75", .75}, {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}}

func percentileRows() []Row {
	var out []Row
	for _, p := range percentiles {
		out = append(out, Row{
			Name: "Latency " + p.name, Unit: "ms",
			Definition: "latency that " + p.name[1:] + " %" + ofDue + " did not exceed" + ranks + "; * fewer than ten requests lie above it",
			Cell:       quantile(p.q, func(l *run.Latency) *run.Distribution { return l.Due }),
		})
	}
	return out
}

// quantile prints one percentile for each stage.
func quantile(q float64, of func(*run.Latency) *run.Distribution) func(*run.Run) Cell {
	return byStage(func(g *run.Stage) Cell { return percentile(of(&g.Latency).Quantile(q)) })
}

// percentile formats a percentile with the signs for its marks.
func percentile(m run.Measure) Cell {
	return cellOf(m, func(v float64) string {
		if m.Digits == 0 { // from a classic file
			return atLeast(m) + fmt.Sprintf("%.6f ms", v)
		}
		return atLeast(m) + Significant(v) + " ms"
	})
}

// okOnly returns the distribution over ok requests if other requests were due as well.
func okOnly(l *run.Latency) *run.Distribution {
	if l.OK.N.Known() && l.OK.N.Value == l.Due.N.Value {
		return run.Unmeasured("every request ended ok: see the Latency rows")
	}
	return l.OK
}

// timingRows show the parts of a latency, and percentiles over single populations.
func timingRows() []Row {
	out := []Row{
		{Name: "STDDEV-LATENCY", Unit: "ms", Definition: "standard deviation of the latencies" + ofOK + timed, Cell: latency(deviation)},
		{Name: "AVG-SERVICE", Unit: "ms", Ours: true, Definition: "mean time from sent to answered for the measured requests that ended ok, without the wait for a free client (rate only); AVG-LATENCY is counted from due",
			Cell: latency(func(l *run.Latency) run.Measure { return l.Service.Mean })},
	}
	for _, p := range percentiles[2:] {
		if p.q == .75 || p.q == .95 {
			continue
		}
		share := p.name[1:] + " %"
		out = append(out,
			Row{Name: "Latency " + p.name + ", ok only", Unit: "ms", Ours: true,
				Definition: "latency that " + share + ofOK + " did not exceed" + timed + "; - if every request ended ok, because it then equals Latency " + p.name,
				Cell:       quantile(p.q, okOnly)},
			Row{Name: "Service " + p.name, Unit: "ms", Ours: true,
				Definition: "time from sent to answered that " + share + " of the measured requests that ended ok did not exceed (rate only)",
				Cell:       quantile(p.q, func(l *run.Latency) *run.Distribution { return l.Service })})
	}
	return out
}
