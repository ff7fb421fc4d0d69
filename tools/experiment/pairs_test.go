package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPairs: the order alternates, and a pair with a failed run is not in the list.
func TestPairs(t *testing.T) {
	var ran []string
	run := func(name string) func() (string, error) {
		return func() (string, error) {
			if ran = append(ran, name); len(ran) == 6 {
				return "", errors.New("busy")
			}
			return fmt.Sprint(name, len(ran)), nil
		}
	}
	list, failed := Pairs(t.Context(), 4, run("a"), run("b"), func(int, Pair[string]) {})
	if want := []Pair[string]{{"a1", "b2"}, {"a4", "b3"}, {"a8", "b7"}}; !slices.Equal(list, want) || !slices.Equal(failed, []string{"busy"}) {
		t.Errorf("got %v, %v failed; want %v", list, failed, want)
	}
}

// TestCompare: ratios are within pairs, and an interval that has 1 is within noise.
func TestCompare(t *testing.T) {
	var list []Pair[[3]float64]
	for i := range 6 {
		n := float64(i)
		list = append(list, Pair[[3]float64]{With: [3]float64{100 + n, n, 2}, Without: [3]float64{100 + n, 2, 1}})
	}
	var out strings.Builder
	of := func(i int) func([3]float64) float64 { return func(f [3]float64) float64 { return f[i] } }
	Compare(&out, "tapped", "not tapped", list, []string{"busy"},
		Figure[[3]float64]{"requests per second", "", 1, of(0)}, Figure[[3]float64]{"latency, p99", " ms", 1000, of(1)}, Figure[[3]float64]{"fsync, mean", " ms", 1000, of(2)})
	for _, want := range []string{
		"| | tapped, median | not tapped, median | ratio |",
		"| requests per second | 102.5 | 102.5 | 1.000 | 1.000 to 1.000 (96.9 %) | within noise |",
		"| latency, p99 | 2500 ms | 2000 ms | 1.250 | 0.000 to 2.500 (96.9 %) | within noise |",
		"| fsync, mean | 2000 ms | 1000 ms | 2.000 | 2.000 to 2.000 (96.9 %) | differs |",
		"A pair failed and is not counted: busy",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}
