package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/coreos/dbtester/pkg/stats/order"
)

// The most by which a mean and a 99th percentile may differ from the values by the proxy, as
// shares.
const (
	mostMean = 0.01
	mostP99  = 0.02
)

// print prints a row for each load, and returns which bars were missed.
func print(out io.Writer, loads []load, seen [][]sides) error {
	fmt.Fprint(out, "| load | mean, observed | reported | ratio (interval) | p99, observed | reported | ratio (interval) | p99 lateness, observed | reported | bars |\n|---|---|---|---|---|---|---|---|---|---|\n")
	var errs []error
	for i, l := range loads {
		mean := compare(seen[i], func(t times) float64 { return t.mean })
		p99 := compare(seen[i], func(t times) float64 { return t.p99 })
		late := compare(seen[i], func(t times) float64 { return t.late })
		lateness := "| | "
		if l.rate > 0 {
			lateness = fmt.Sprintf("| %.3f ms | %.3f ms ", late.observed, late.reported)
		}
		var bars [2]string
		for n, b := range []struct {
			name string
			of   comparison
			most float64
		}{{"mean", mean, mostMean}, {"p99", p99, mostP99}} {
			word := "met"
			if math.Abs(b.of.ratio.Is-1) > b.most {
				word = "missed"
				errs = append(errs, fmt.Errorf("%s: the %s is %.4f times the observed one, want it within %.0f %%", l, b.name, b.of.ratio.Is, 100*b.most))
			}
			bars[n] = fmt.Sprintf("%s within %.0f %%: %s", b.name, 100*b.most, word)
		}
		fmt.Fprintf(out, "| %s %s %s %s| %s; %s |\n", l, mean, p99, lateness, bars[0], bars[1])
	}
	return errors.Join(errs...)
}

// comparison is a quantity by both sides: medians in milliseconds, and the ratio within runs.
type comparison struct {
	observed, reported float64
	ratio              order.Median
}

func compare(seen []sides, of func(times) float64) comparison {
	var observed, reported, ratios []float64
	for _, s := range seen {
		o, r := of(s.observed), of(s.reported)
		observed, reported, ratios = append(observed, o), append(reported, r), append(ratios, r/o)
	}
	return comparison{order.Of(observed).Is, order.Of(reported).Is, order.Of(ratios)}
}

func (c comparison) String() string {
	return fmt.Sprintf("| %.2f ms | %.2f ms | %.4f (%.4f to %.4f)", c.observed, c.reported, c.ratio.Is, c.ratio.Low, c.ratio.High)
}
