package table

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// capacityRows are the rows for capacity searches. Runs with different limits have separate rows.
func capacityRows(runs []*run.Run) (rows []Row) {
	var limits []string
	for _, r := range runs {
		if r.Capacity != nil && !slices.Contains(limits, r.Capacity.SLO()) {
			limits = append(limits, r.Capacity.SLO())
		}
	}
	for _, slo := range limits {
		of := func(cell func(*run.Run) Cell) func(*run.Run) Cell {
			return func(r *run.Run) Cell {
				if r.Capacity == nil || r.Capacity.SLO() != slo {
					return inapplicable("no capacity was searched for")
				}
				return cell(r)
			}
		}
		rows = append(rows,
			Row{Name: "CAPACITY (" + slo + ")", Unit: "requests/s", Ours: true, Cell: of(capacityCell),
				Definition: "rate at which the required share of windows passes. In a window that passes, enough of the requests that were due were answered within the limit, counted from due, and few enough failed. The interval below the value contains the capacity with 95 % probability: it comes from the model's posterior for a single search, from the order of the trials for several"},
			Row{Name: "LATENCY AT CAPACITY (" + slo + ")", Unit: "ms", Ours: true, Cell: of(func(r *run.Run) Cell { return cellOf(r.AtCapacity(), millisText) }),
				Definition: "latency at that percentile in the last window, the hold at HELD AT, which all other rows describe"},
			Row{Name: "HELD AT (" + slo + ")", Unit: "requests/s", Ours: true, Cell: of(heldCell),
				Definition: "highest rate, from the capacity downwards, at which one long window passed too"},
			Row{Name: "CAPACITY-WINDOWS", Unit: "windows", Ours: true, Cell: of(windowsCell),
				Definition: "windows in the search, how many of them failed because the servers paused, and how many more were void because the client was late"},
			Row{Name: "CAPACITY-STORE", Unit: "bytes", Ours: true, Cell: of(storeCell),
				Definition: "size of the largest member's store after the first window and after the last"},
		)
	}
	return rows
}

func capacityCell(r *run.Run) Cell {
	m := r.CapacityRate()
	c := cellOf(m, perSecondText)
	if m.Known() {
		c.Spread = fmt.Sprintf("%s .. %s req/sec", run.RateNumber(m.Low), run.RateNumber(m.High))
	}
	return c
}

func heldCell(r *run.Run) Cell {
	c := cellOf(r.CapacityHeld(), perSecondText)
	if c.Value != nil {
		c.Spread = fmt.Sprintf("for %v", r.Capacity.Hold)
	}
	return c
}

func windowsCell(r *run.Run) Cell {
	c := count(int64(r.Capacity.Counted))
	if s := r.Capacity; s.Stalled+s.Voided > 0 {
		c.Spread = fmt.Sprintf("%d stalled, %d void", s.Stalled, s.Voided)
	}
	return c
}

func storeCell(r *run.Run) Cell {
	first, last, ok := r.Capacity.StoreGrowth()
	if !ok {
		return inapplicable("the database does not report it")
	}
	c := cellOf(run.Counted(last), HumanSize)
	c.Spread = "from " + HumanSize(float64(first))
	return c
}
