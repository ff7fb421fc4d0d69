package table

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
)

// capacityRows are of searches for a capacity. Runs with different limits have rows of
// their own.
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
					return inapplicable("it was not searched for")
				}
				return cell(r)
			}
		}
		rows = append(rows,
			Row{Name: "CAPACITY (" + slo + ")", Unit: "requests/s", Ours: true, Cell: of(capacityCell),
				Definition: "rate at which the asked share of windows passes: at least that part of all requests that were due answered within the limit, counted from due, and few enough failed. Below it an interval that holds it with 95 % probability: of a single search by the model's posterior, of trials by their order"},
			Row{Name: "LATENCY AT CAPACITY (" + slo + ")", Unit: "ms", Ours: true, Cell: of(func(r *run.Run) Cell { return cellOf(r.AtCapacity(), millisText) }),
				Definition: "that percentile of the latency in the last window, of which all other rows are: the hold, at HELD AT"},
			Row{Name: "HELD AT (" + slo + ")", Unit: "requests/s", Ours: true, Cell: of(heldCell),
				Definition: "highest rate, from the capacity downwards, at which one long window passed too"},
			Row{Name: "CAPACITY-WINDOWS", Unit: "windows", Ours: true, Cell: of(windowsCell),
				Definition: "windows that the search took, how many of them failed by a pause of the servers, and how many more were void because the client was late"},
			Row{Name: "CAPACITY-STORE", Unit: "bytes", Ours: true, Cell: of(storeCell),
				Definition: "size of the largest member's store after the first and the last window"},
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
