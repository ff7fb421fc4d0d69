package run

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/ability/capacity"
)

// Capacity has the result and windows of a search. All other records cover only the last window.
type Capacity struct {
	*capacity.Result
	Windows []capacity.Window
}

// readCapacity reads the search windows if the run was a capacity search.
func (f *folderReader) readCapacity() {
	c, err := capacity.Record().Of(f.record.Records)
	switch {
	case err != nil:
		f.run.Gaps.Add("%v", err)
	case c != (capacity.Result{}):
		f.run.Capacity = &Capacity{&c, read(&f.run.Gaps, f.path(capacity.File), capacity.ReadWindows)}
	}
}

// CapacityRate is the capacity in requests per second with its 95 % interval, or the reason why it
// is missing.
func (r *Run) CapacityRate() Measure {
	c := r.Capacity
	switch {
	case c == nil:
		return Inapplicable("no capacity was searched for")
	case c.Found():
		m := Measured(c.Rate, int64(c.Counted))
		m.Low, m.High = c.Low, c.High
		return m
	}
	m := Missing("the search ended without a capacity: %s", c.Reason)
	switch c.Reason {
	case "below the least rate":
		m.Words = "below " + rateText(c.EndedAt)
	case "above the highest rate":
		m.Words = "above " + rateText(c.EndedAt)
	case "client-limited", "store full":
		m.Words = c.Reason + " at " + rateText(c.EndedAt)
	case "stalls":
		if m.Words = fmt.Sprintf("stalls in %d of %d windows", c.Stalled, c.Counted); !c.Stalls() {
			m.Words = "fails at any rate"
		}
	default:
		m.Words = "the search did not finish"
	}
	return m
}

// CapacityHeld is the rate that the cluster held after the search.
func (r *Run) CapacityHeld() Measure {
	c := r.Capacity
	switch {
	case c == nil || c.Hold == 0:
		return Inapplicable("no hold was requested")
	case c.Held > 0:
		return Measured(c.Held, int64(c.Holds))
	case c.Unheld != "":
		m := Missing("the hold ended at %s: %s", rateText(c.EndedAt), c.Unheld)
		m.Words = c.Unheld
		return m
	case c.Holds == 0:
		return Missing("the search ended without a capacity to hold")
	}
	m := Missing("none of %d rates tried at or below the capacity was held", c.Holds)
	m.Words = fmt.Sprintf("none of %d rates", c.Holds)
	return m
}

// AtCapacity is the limited quantile in the last window, in milliseconds.
func (r *Run) AtCapacity() Measure {
	switch {
	case r.Capacity == nil:
		return Inapplicable("no capacity was searched for")
	case !r.Capacity.Found():
		return Missing("the search ended without a capacity: %s", r.Capacity.Reason)
	}
	return r.Stages[0].Latency.Due.Quantile(float64(r.Capacity.At) / 100)
}

// StoreGrowth returns the store size in bytes after the first and the last window whose size is
// known.
func (c *Capacity) StoreGrowth() (first, last int64, ok bool) {
	known := slices.DeleteFunc(slices.Clone(c.Windows), func(w capacity.Window) bool { return w.DBBytes < 0 })
	if len(known) == 0 {
		return 0, 0, false
	}
	return known[0].DBBytes, known[len(known)-1].DBBytes, true
}

func rateText(v float64) string { return RateNumber(v) + "/s" }
