// Package capacity shows results from capacity searches.
package capacity

import (
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
)

// Half shows capacity searches in reports.
type Half struct{}

var (
	_ abilities.Searcher  = Half{}
	_ abilities.Sectioner = Half{}
	_ abilities.Drawer    = Half{}
)

// Section returns the title above the rows from SectionRows.
func (Half) Section() string { return "Capacity (the search before the measured part)" }

// SectionRows are the rows for capacity searches. Runs with different limits have separate rows.
func (Half) SectionRows(runs []*run.Run) (rows []abilities.Row) {
	var limits []string
	for _, r := range runs {
		if r.Capacity != nil && !slices.Contains(limits, r.Capacity.SLO()) {
			limits = append(limits, r.Capacity.SLO())
		}
	}
	for _, slo := range limits {
		of := func(cell cell) cell {
			return func(r *run.Run) (run.Measure, string) {
				if r.Capacity == nil || r.Capacity.SLO() != slo {
					return run.Inapplicable("no capacity was searched for"), ""
				}
				return cell(r)
			}
		}
		rows = append(rows,
			abilities.Row{Name: "CAPACITY (" + slo + ")", Unit: "requests/s", Cell: of(rate), Format: perSecond,
				Definition: "rate at which the required share of windows passes. In a window that passes, enough of the requests that were due were answered within the limit, counted from due, and few enough failed. The interval below the value contains the capacity with 95 % probability: it comes from the model's posterior for a single search, from the order of the trials for several"},
			abilities.Row{Name: "LATENCY AT CAPACITY (" + slo + ")", Unit: "ms", Cell: of(func(r *run.Run) (run.Measure, string) { return r.AtCapacity(), "" }), Format: millis,
				Definition: "latency at that percentile in the last window, the hold at HELD AT, which all other rows describe"},
			abilities.Row{Name: "HELD AT (" + slo + ")", Unit: "requests/s", Cell: of(held), Format: perSecond,
				Definition: "highest rate, from the capacity downwards, at which one long window passed too"},
			abilities.Row{Name: "CAPACITY-WINDOWS", Unit: "windows", Cell: of(windows), Format: count,
				Definition: "windows in the search, how many of them failed because the servers paused, and how many more were void because the client was late"},
			abilities.Row{Name: "CAPACITY-STORE", Unit: "bytes", Cell: of(store), Format: run.HumanSize,
				Definition: "size of the largest member's store after the first window and after the last"},
		)
	}
	return rows
}

// cell returns the number in a row and the text below it.
type cell = func(*run.Run) (run.Measure, string)

func rate(r *run.Run) (run.Measure, string) {
	m := r.CapacityRate()
	return m, fmt.Sprintf("%s .. %s req/sec", run.RateNumber(m.Low), run.RateNumber(m.High))
}

func held(r *run.Run) (run.Measure, string) {
	return r.CapacityHeld(), fmt.Sprintf("for %v", r.Capacity.Hold)
}

func windows(r *run.Run) (m run.Measure, below string) {
	c := r.Capacity
	if c.Stalled+c.Voided > 0 {
		below = fmt.Sprintf("%d stalled, %d void", c.Stalled, c.Voided)
	}
	return run.Counted(int64(c.Counted)), below
}

func store(r *run.Run) (run.Measure, string) {
	first, last, ok := r.Capacity.StoreGrowth()
	if !ok {
		return run.Inapplicable("the database does not report it"), ""
	}
	return run.Counted(last), "from " + run.HumanSize(float64(first))
}

func perSecond(v float64) string { return run.RateNumber(v) + " req/sec" }
func millis(v float64) string    { return fmt.Sprintf("%.4f ms", v) }
func count(v float64) string     { return humanize.Comma(int64(math.Round(v))) }
