package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/pkg/stats/share"
	"github.com/coreos/dbtester/tools/experiment"
)

// enough is the part of each series that must be right, and least the largest part of the response
// time that may stay unexplained in the median of a planted cause, in percent.
const (
	enough = 0.95
	most   = 30.0
)

// report prints the table.
func report(out io.Writer, all []*series) {
	fmt.Fprintf(out, "# Planted causes\n\nThree members on one machine with %d processors, %s, data in memory, and one client that writes to the leader in a closed loop; with a quota eight. A cause is planted, or none, and the report must name it ([docs/cause.md](../docs/cause.md)): by its own words, with over half of the mean response time for certain. Partly is from 30 %% on. Without a cause, none must be found. Each run has a fresh cluster. Intervals are exact (Clopper and Pearson, 95 %%). Made by `make causes`.\n\n| store | planted | right | share, 95 %% | partly | none found | other names | unexplained, median |\n|---|---|---|---|---|---|---|---|\n", runtime.NumCPU(), experiment.Busy("after"))
	runs, wrong := 0, 0
	for _, s := range all {
		c, n := s.counts(), len(s.results)
		if n == 0 {
			continue
		}
		low, high := share.Interval(s.right(), n)
		fmt.Fprintf(out, "| %s | %s | %d of %d | %.0f to %.0f %% | %d | %d | %s | %.0f %% |\n", s.store.name, s.planted, s.right(), n, 100*low, 100*high, c.partly, c.none, listed(c.others), order.Of(c.unexplained).Is)
		runs += n
		for _, r := range s.results {
			if slices.ContainsFunc(slices.Concat(r.named, r.partly), func(name string) bool { return name != s.cause.name }) {
				wrong++
			}
		}
	}
	_, high := share.Interval(wrong, max(runs, 1))
	fmt.Fprintf(out, "\n%d of %d runs have another name than the planted one, which allows for up to %.0f %%.\n", wrong, runs, 100*high)
	for _, s := range all {
		for _, text := range s.failed {
			fmt.Fprintf(out, "\nA run of %s with %s failed and is not counted: %s\n", s.store.name, s.planted, strings.Join(strings.Fields(text), " "))
		}
	}
}

// listed counts each name once.
func listed(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	count := map[string]int{}
	var order []string
	for _, name := range names {
		if count[name]++; count[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%s %d", name, count[name])
	}
	return strings.Join(order, ", ")
}

// judge returns what is not as it must be.
func judge(all []*series) error {
	var errs []error
	for _, s := range all {
		c, n := s.counts(), len(s.results)
		of := s.store.name + ", " + s.planted
		switch {
		case n == 0:
			errs = append(errs, fmt.Errorf("%s: no run: %v", of, s.failed))
			continue
		case float64(s.right()) < enough*float64(n):
			errs = append(errs, fmt.Errorf("%s: %d of %d right", of, s.right(), n))
		}
		if len(c.others) > 0 {
			errs = append(errs, fmt.Errorf("%s: other names: %s", of, listed(c.others)))
		}
		if is := order.Of(c.unexplained).Is; s.cause.name != "" && is > most {
			errs = append(errs, fmt.Errorf("%s: %.0f %% are unexplained", of, is))
		}
	}
	return errors.Join(errs...)
}
