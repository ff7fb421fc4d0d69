package faults

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Due is a fault, or one of its repeats, with the time at which it is due.
type Due struct {
	Fault
	// Number and Repeat count from 0.
	Number, Repeat int
	// After is when it is due, counted from the first request. For repeats that wait, it is the
	// earliest time.
	After time.Duration
}

// Asked returns the fault for a run record.
func (d Due) Asked() Asked {
	return Asked{Number: d.Number, Repeat: d.Repeat, Kind: d.Kind, Target: d.Member, Fsync: d.Fsync, Detail: d.Detail(), Version: d.Version, Run: d.Run, For: d.For}
}

// Plan returns the faults for a load in the order in which they are due. Repeats that wait come one
// after the other. The seed decides the delays of repeats.
func Plan(list []Fault, r Repeat, seed uint64) (plan []Due) {
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range max(r.Times, 1) {
		begin := time.Duration(n) * r.Every
		if r.Jitter > 0 {
			begin += time.Duration(random.Int64N(int64(r.Jitter) + 1))
		}
		for i, f := range list {
			plan = append(plan, Due{Fault: f, Number: i, Repeat: n, After: begin + f.At})
		}
	}
	slices.SortStableFunc(plan, func(a, b Due) int {
		if r.Until != "" && a.Repeat != b.Repeat {
			return cmp.Compare(a.Repeat, b.Repeat)
		}
		return cmp.Compare(a.After, b.After)
	})
	return plan
}

// Bouts splits the faults in one repeat, in the order in which they are due, into groups that are
// planned to overlap or touch. A fault begins a new bout if all faults before it are over when it
// is due, unless it may overlap with them.
func Bouts(plan []Due, members int) (bouts [][]Due) {
	var end time.Duration // when the current bout is planned to be over
	for i, d := range plan {
		if i == 0 || d.After >= end && !d.Overlap {
			bouts = append(bouts, nil)
		}
		last := &bouts[len(bouts)-1]
		*last = append(*last, d)
		end = max(end, d.After+d.Lasts(members))
	}
	return bouts
}
