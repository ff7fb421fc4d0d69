package main

import (
	"fmt"

	"github.com/coreos/dbtester/tools/experiment"
)

// judged returns a function that judges run records with by.
func judged(by func(r *records) []experiment.Finding) func(manifest string) ([]experiment.Finding, error) {
	return func(manifest string) ([]experiment.Finding, error) {
		r, err := read(manifest)
		if err != nil {
			return nil, err
		}
		return by(r), nil
	}
}

// within is a time that must lie between two, in seconds.
func within(what string, got spread, least, most float64) experiment.Finding {
	return experiment.Found(fmt.Sprintf("%s: least, p50, p99, most (%d)", what, got.N), fmt.Sprintf("%.3f, %.3f, %.3f, %.3f s", got.least, sec(got.P50), sec(got.P99), sec(got.Max)),
		fmt.Sprintf("%.3f to %.3f s", least, most), got.N > 0 && got.least >= least && sec(got.Max) <= most)
}
