package experiment

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/stats/order"
)

// Pair holds the measurements from two runs, with and without the examined feature.
type Pair[T any] struct{ With, Without T }

// Pairs runs n pairs, whose order alternates. It passes each pair of successful runs to said, and
// returns them with the errors of the others. If ctx ends, it returns the pairs so far.
func Pairs[T any](ctx context.Context, n int, with, without func() (T, error), said func(number int, p Pair[T])) (list []Pair[T], failed []string) {
	for i := range n {
		var p Pair[T]
		type arm struct {
			run func() (T, error)
			to  *T
		}
		arms := []arm{{with, &p.With}, {without, &p.Without}}
		if i%2 == 1 {
			slices.Reverse(arms)
		}
		var err error
		for _, a := range arms {
			if err == nil {
				*a.to, err = a.run()
			}
		}
		if ctx.Err() != nil {
			break // an interrupted pair is no failure
		}
		if err != nil {
			failed = append(failed, err.Error())
			continue
		}
		said(i+1, p)
		list = append(list, p)
	}
	return list, failed
}

// Figure is a number a run yields, printed as Scale times its value.
type Figure[T any] struct {
	Name, Unit string
	Scale      float64
	Of         func(T) float64
}

// Compare prints the medians for both runs, the median of the ratios within pairs with the interval
// from its order statistics, and whether the interval has 1; and after the table why pairs failed.
// The columns are named with and without.
func Compare[T any](out io.Writer, with, without string, list []Pair[T], failed []string, figures ...Figure[T]) {
	fmt.Fprintf(out, "| | %s, median | %s, median | ratio | interval | |\n|---|---|---|---|---|---|\n", with, without)
	for _, f := range figures {
		var as, bs, ratios []float64
		for _, p := range list {
			a, b := f.Of(p.With), f.Of(p.Without)
			as, bs, ratios = append(as, a*f.Scale), append(bs, b*f.Scale), append(ratios, a/b)
		}
		r, word := order.Of(ratios), "differs"
		if r.Low <= 1 && r.High >= 1 {
			word = "within noise"
		}
		fmt.Fprintf(out, "| %s | %.4g%s | %.4g%s | %.3f | %.3f to %.3f (%.1f %%) | %s |\n", f.Name, order.Of(as).Is, f.Unit, order.Of(bs).Is, f.Unit, r.Is, r.Low, r.High, 100*r.Coverage, word)
	}
	for _, text := range failed {
		fmt.Fprintf(out, "\nA pair failed and is not counted: %s\n", strings.ReplaceAll(text, "\n", " "))
	}
}
