package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/coreos/dbtester/pkg/stats/abtest"
)

// design is how a comparison is made.
type design struct {
	name    string
	metrics int
	// looks are the pair counts; a comparison goes on to the next one while it is inconclusive.
	looks []int
	// apart makes all runs of A before those of B, which are compared as groups. Such recorded runs
	// have no confirming block.
	apart bool
}

// block counts the pairs that confirm a verdict of "worse".
const block = 2

func designs() []design {
	until := []int{8, 10, 12, 14, 16, 18, 20}
	return []design{
		{name: "8 pairs", metrics: 1, looks: []int{8}},
		{name: "8 pairs, two metrics", metrics: 2, looks: []int{8}},
		{name: "until 20", metrics: 1, looks: until},
		{name: "until 20, two metrics", metrics: 2, looks: until},
		{name: "8 runs of A, then 8 of B", metrics: 1, looks: []int{8}, apart: true},
	}
}

// seedOf is the generator for simulation number seed (from 1) in a table row.
func seedOf(seed, row int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), uint64(row))) }

// compared counts comparison results.
type compared struct {
	n        int
	verdicts map[abtest.Verdict]int
	// unconfirmed counts verdicts of "worse" that the confirming block overturned, and held the
	// intervals for the first metric that hold the truth.
	unconfirmed, held int
	pairs             int // in all, without confirming blocks
}

func (c *compared) share(v abtest.Verdict) float64 { return float64(c.verdicts[v]) / float64(c.n) }

// outcome has the results from one simulated comparison.
type outcome struct {
	first, last abtest.Result // before and after a confirming block
	pairs       int           // judged, without a confirming block
}

// compareOften makes n comparisons in which the first metric of B is changed by a share and others
// are not. Each metric in a run has its own host: the least favourable case for the adjustment over
// metrics.
func compareOften(d design, kind hostKind, change float64, n, row int) *compared {
	compare := compareOnce
	if d.apart {
		compare = compareApart
	}
	outcomes := inParallel(n, func(i int) outcome { return compare(d, kind, math.Log1p(change), seedOf(i+1, row)) })
	c := &compared{n: n, verdicts: map[abtest.Verdict]int{}}
	for _, o := range outcomes {
		c.verdicts[o.last.Verdict]++
		c.pairs += o.pairs
		if o.first.Verdict != o.last.Verdict {
			c.unconfirmed++
		}
		if f := o.last.Findings[0]; f.Low <= math.Log1p(change) && math.Log1p(change) <= f.High {
			c.held++
		}
	}
	return c
}

// compareOnce makes pairs until the result is conclusive or the last look is done, and the block
// that confirms a verdict of "worse".
func compareOnce(d design, kind hostKind, shift float64, rng *rand.Rand) (o outcome) {
	rule := abtest.Rule{Alpha: .05, Margin: .03, Looks: d.looks}
	most := d.looks[len(d.looks)-1]
	metrics := make([]abtest.Metric, d.metrics)
	hosts := make([]*host, d.metrics)
	for i := range metrics {
		hosts[i] = newHost(kind, rng, 2*most)
		metrics[i] = abtest.Metric{Name: fmt.Sprint("metric ", i+1), HigherIsBetter: true, Decides: true, Sample: abtest.Pairs(nil)}
	}
	add := func(n int) {
		for i := range metrics {
			change := 0.0
			if i == 0 {
				change = shift
			}
			metrics[i].Sample = append(metrics[i].Sample.(abtest.Pairs), hosts[i].pairs(n, change)...)
		}
	}
	for _, n := range d.looks {
		add(n - o.pairs)
		o.pairs = n
		if o.first = abtest.Judge(rule, metrics); o.first.Verdict != abtest.Inconclusive {
			break
		}
	}
	o.last = o.first
	if o.first.Verdict == abtest.Worse {
		add(block)
		o.last = abtest.Confirm(rule, o.first, metrics, block)
	}
	return o
}

// compareApart makes all runs of A, then all of B.
func compareApart(d design, kind hostKind, shift float64, rng *rand.Rand) outcome {
	n := d.looks[0]
	h := newHost(kind, rng, 2*n)
	var g abtest.Groups
	for range n {
		g.A = append(g.A, h.next())
	}
	for range n {
		g.B = append(g.B, h.next()+shift)
	}
	rule := abtest.Rule{Alpha: .05, Margin: .03}
	result := abtest.Judge(rule, []abtest.Metric{{Name: "metric 1", HigherIsBetter: true, Decides: true, Sample: g}})
	return outcome{first: result, last: result, pairs: n}
}

// changes returns the effects on B that comparisons should find, as shares.
func changes() []float64 { return []float64{0, -.03, -.05, -.10, .05} }

// comparisonTable prints every design on every host.
func comparisonTable(out io.Writer, n int) {
	fmt.Fprintf(out, "| host | comparison | true change | worse (exit 4) | inconclusive (5) | equivalent | better | worse, not confirmed | interval holds truth | pairs |\n|---|---|---|---|---|---|---|---|---|---|\n")
	row := 0
	for _, kind := range hostKinds() {
		for _, d := range designs() {
			for _, change := range changes() {
				row++
				c := compareOften(d, kind, change, n, row)
				percent := func(count int) string { return fmt.Sprintf("%.1f %%", 100*float64(count)/float64(n)) }
				fmt.Fprintf(out, "| %s | %s | %+.0f %% | %s | %s | %s | %s | %s | %s | %.1f |\n", kind.name, d.name, 100*change,
					percent(c.verdicts[abtest.Worse]), percent(c.verdicts[abtest.Inconclusive]), percent(c.verdicts[abtest.Equivalent]), percent(c.verdicts[abtest.Better]),
					percent(c.unconfirmed), percent(c.held), float64(c.pairs)/float64(n))
			}
		}
	}
}
