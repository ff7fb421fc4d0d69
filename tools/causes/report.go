package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/pkg/stats/share"
)

// Bars for each series: one run in mayMiss may miss the planted cause, and the median unexplained
// share of the response time may be up to most percent.
const (
	mayMiss = 20
	most    = 30.0
)

// counts sums up the verdicts in a series.
type counts struct {
	// right counts verdicts that name the planted cause, or no cause if no rule knows the plant. If
	// several causes are planted they name one at least partly, and list all. partly counts
	// verdicts that name a planted cause but are not right, and none verdicts without a name.
	right, partly, none int
	wrong               int      // runs with a name that was not planted
	others              []string // these names
	unexplained         []float64
}

func (s *series) counts() (c counts) {
	for _, v := range s.verdicts {
		found := slices.Concat(v.named, v.partly)
		others := slices.DeleteFunc(slices.Clone(found), func(name string) bool { return slices.Contains(s.names, name) })
		planted := len(found) - len(others)
		switch {
		case len(s.names) == 0 && len(found) == 0, len(s.names) == 1 && slices.Contains(v.named, s.names[0]), len(s.names) > 1 && planted > 0 && s.lists(v):
			c.right++
		case planted > 0:
			c.partly++
		}
		if len(found) == 0 {
			c.none++
		}
		if len(others) > 0 {
			c.wrong++
		}
		c.others = append(c.others, others...)
		c.unexplained = append(c.unexplained, v.unexplained)
	}
	return c
}

// lists reports whether a verdict lists all planted causes.
func (s *series) lists(v verdict) bool {
	all := slices.Concat(v.named, v.partly, v.listed)
	return !slices.ContainsFunc(s.names, func(name string) bool { return !slices.Contains(all, name) })
}

// report prints the table with all series. Each should have n runs.
func report(out io.Writer, all []*series, n int) {
	fmt.Fprintf(out, "# Planted causes\n\nThree members on one machine with %s processors, data in memory, and clients that write to the leader in a closed loop, or together at the rate that the table has. Causes are planted, or none, and the report must name them ([docs/cause.md](../docs/cause.md)): one by its own words, with over half of the mean response time for certain. Of two, one must be named with 30 %% or more for certain, and the other be listed with as much, whatever its bounds. Without a cause none must be found, and of causes that no rule knows from these records none must be named. Each run has a fresh cluster. All verdicts follow from the kept facts of the runs by the rules of this version. Intervals are exact (Clopper and Pearson, 95 %%). What is unexplained is in percent of the mean response time, and negative where lines of the ledger overlap. Made by `make causes`.\n\n| planted | clients | must be found | right | of | at least, 95 %% | partly | nothing found | another name | unexplained, median | stores | made |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		values(all, func(r record) string { return fmt.Sprint(r.Processors) }))
	old := 0
	for _, s := range all {
		s.row(out, n)
		old += s.old
	}
	var runs, wrong int
	for _, s := range all {
		runs, wrong = runs+len(s.verdicts), wrong+s.counts().wrong
	}
	_, high := share.Interval(wrong, max(runs, 1))
	fmt.Fprintf(out, "\n%d of %d runs have a name that was not planted, which allows for up to %.0f %%.\n", wrong, runs, 100*high)
	if old > 0 {
		fmt.Fprintf(out, "\n%d kept runs are of experiments that have changed since, and are not counted.\n", old)
	}
	for _, s := range all {
		for _, text := range s.failed {
			fmt.Fprintf(out, "\nA run with %s failed and is not counted: %s\n", s.words, strings.Join(strings.Fields(text), " "))
		}
	}
}

// row prints a line in the table.
func (s *series) row(out io.Writer, n int) {
	want := strings.Join(s.names, " and ")
	switch {
	case s.unknown:
		want = "nothing: no rule knows it"
	case want == "":
		want = "nothing"
	}
	c, made := s.counts(), len(s.verdicts)
	low, rest := "-", "-"
	if made > 0 {
		least, _ := share.Interval(c.right, made)
		low, rest = fmt.Sprintf("%.0f %%", 100*least), fmt.Sprintf("%.0f %%", order.Of(c.unexplained).Is)
	}
	of := fmt.Sprint(made)
	if made < n {
		of += fmt.Sprintf(" (%d missing)", n-made)
	}
	others := fmt.Sprint(c.wrong)
	if c.wrong > 0 {
		others += ": " + listed(c.others)
	}
	var stores []string
	for _, r := range s.records {
		stores = append(stores, r.Store)
	}
	clients := fmt.Sprint(s.clients)
	if s.rate > 0 {
		clients += fmt.Sprintf(", %d writes/s", s.rate)
	}
	fmt.Fprintf(out, "| %s | %s | %s | %d | %s | %s | %d | %d | %s | %s | %s | %s |\n", s.words, clients, want, c.right, of, low, c.partly, c.none, others, rest, listed(stores), s.when())
}

// when is the days on which the runs were made, and the versions that made them.
func (s *series) when() string {
	if len(s.records) == 0 {
		return "-"
	}
	byTime := func(a, b record) int { return a.Started.Compare(b.Started) }
	first, last := slices.MinFunc(s.records, byTime).Started.Format(time.DateOnly), slices.MaxFunc(s.records, byTime).Started.Format(time.DateOnly)
	if first != last {
		first += " to " + last
	}
	return first + ", by " + values([]*series{s}, func(r record) string { return r.Version })
}

// values lists each value in records once.
func values(all []*series, of func(record) string) string {
	var list []string
	for _, s := range all {
		for _, r := range s.records {
			if v := of(r); !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	if len(list) == 0 {
		return "unknown"
	}
	return strings.Join(list, ", ")
}

// listed counts each name.
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

// judge returns an error for every series with fewer than n runs, or that misses a bar.
func judge(parts []*series, n int) error {
	var errs []error
	for _, s := range parts {
		c, made := s.counts(), len(s.verdicts)
		fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(s.key+": "+format, args...)) }
		if made < n {
			fail("%d of %d runs are missing", n-made, n)
		}
		if !s.unknown && made-c.right > max(made, n)/mayMiss {
			fail("%d of %d right", c.right, made)
		}
		if c.wrong > 0 && (len(s.names) > 0 || s.unknown) {
			fail("names that were not planted: %s", listed(c.others))
		}
		if made > 0 && len(s.names) > 0 && order.Of(c.unexplained).Is > most {
			fail("%.0f %% are unexplained", order.Of(c.unexplained).Is)
		}
	}
	return errors.Join(errs...)
}
