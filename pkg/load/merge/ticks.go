package merge

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// ticks merges progress.csv rows. A generator whose step ends within a tick sends its last row
// before the others send their rows for that tick, so rows may be held.
type ticks struct {
	ops  []workload.Op
	held []tick // ascending
	rows []results.Progress
}

// tick is a row with its operation's place in the load.
type tick struct {
	results.Progress
	op int
}

func (a tick) compare(b tick) int {
	return cmp.Or(cmp.Compare(a.FromNS, b.FromNS), cmp.Compare(a.op, b.op))
}

// add adds a generator row.
func (t *ticks) add(p *results.Progress) {
	row := tick{*p, slices.Index(t.ops, workload.Op(p.Operation))}
	i, found := slices.BinarySearchFunc(t.held, row, tick.compare)
	if !found {
		t.held = slices.Insert(t.held, i, row)
		return
	}
	to := &t.held[i]
	to.ToNS = max(to.ToNS, p.ToNS)
	to.Due += p.Due
	to.OK += p.OK
	to.Failed += p.Failed
	to.Unknown += p.Unknown
	to.Shed += p.Shed
	to.Unsent += p.Unsent
	to.InFlight += p.InFlight
	to.Answered(p.FirstOKNS, p.LastOKNS)
}

// take returns the rows that begin before a time, in nanoseconds after the step started, and
// forgets them. They are valid until the next call.
func (t *ticks) take(until int64) []results.Progress {
	t.rows = t.rows[:0]
	begun := 0 // the first row in a tick
	for i := 0; i < len(t.held) && t.held[i].FromNS < until; i++ {
		t.rows = append(t.rows, t.held[i].Progress)
		if t.rows[i].FromNS > t.rows[begun].FromNS {
			begun = i
		}
		// A tick ends for all operations when it ends for the last generator, and its first and
		// last answers are those of any operation.
		for n := begun; n < i; n++ {
			a, b := &t.rows[n], &t.rows[i]
			longest := max(a.ToNS, b.ToNS)
			a.ToNS, b.ToNS = longest, longest
			a.Answered(b.FirstOKNS, b.LastOKNS)
			b.Answered(a.FirstOKNS, a.LastOKNS)
		}
	}
	t.held = slices.Delete(t.held, 0, len(t.rows))
	return t.rows
}
