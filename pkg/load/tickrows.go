package load

import (
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// tickRows turns the ticks of a step into progress.csv rows and finds the longest gap between ok
// answers. One goroutine at a time calls its methods.
type tickRows struct {
	ops  []workload.Op
	plan *plan
	grid grid
	// taken are the ticks taken from the shards and not yet written, in order.
	taken []tickCounts
	next  int64 // the first tick not written
	// inFlight counts the requests sent and not ended, by operation.
	inFlight [maxOps]int64
	rows     []results.Progress // from the last call
	answers  []Answers          // from the last call
	gaps     Gaps
}

// begin starts a step.
func (r *tickRows) begin(p *plan, g grid) {
	r.plan, r.grid, r.taken, r.inFlight = p, g, r.taken[:0], [maxOps]int64{}
	r.next = r.grid.of(p.start)
	r.gaps = Gaps{}
}

// due counts requests that became due in a tick, by operation.
func (r *tickRows) due(tick int64, counts []int64) {
	t := openTick(&r.taken, tick)
	for o, n := range counts {
		t.ops[o].due += n
	}
}

// before returns the rows for all ticks before number end, each ending at until at the latest, and
// the answers in the ticks of the measured window. Both are valid until the next call.
func (r *tickRows) before(end, until int64) ([]results.Progress, []Answers) {
	r.rows, r.answers = r.rows[:0], r.answers[:0]
	n := 0
	for ; n < len(r.taken) && r.taken[n].number < r.next; n++ {
		r.write(&r.taken[n], until)
	}
	var empty tickCounts
	for ; r.next < end; r.next++ {
		t := &empty
		if n < len(r.taken) && r.taken[n].number == r.next {
			t = &r.taken[n]
			n++
		}
		t.number = r.next
		r.write(t, until)
	}
	r.taken = slices.Delete(r.taken, 0, n)
	return r.rows, r.answers
}

// write appends tick rows.
func (r *tickRows) write(t *tickCounts, until int64) {
	from, to := r.grid.bounds(t.number)
	if from >= r.grid.window && to <= r.grid.cut() && t.last != 0 {
		a := Answers{First: t.first - r.plan.start, Last: t.last - r.plan.start}
		r.gaps.Add(a)
		r.answers = append(r.answers, a)
	}
	from, to = max(from, r.plan.start), max(min(to, until), from)
	for o, op := range r.ops {
		c := &t.ops[o]
		ended := c.ended[workload.OK] + c.ended[workload.Failed] + c.ended[workload.Unknown]
		r.inFlight[o] += c.sent - ended
		due := c.due
		if !r.plan.rated() {
			due = c.sent // in a closed loop, a request is due when it is sent
		}
		if due+ended+c.shed+c.unsent+r.inFlight[o] == 0 {
			continue
		}
		row := results.Progress{
			Step: r.plan.Index, FromNS: from - r.plan.start, ToNS: to - r.plan.start, Operation: string(op),
			Due: due, OK: c.ended[workload.OK], Failed: c.ended[workload.Failed], Unknown: c.ended[workload.Unknown],
			Shed: c.shed, Unsent: c.unsent, InFlight: r.inFlight[o],
		}
		if t.last != 0 {
			row.Answered(t.first-r.plan.start, t.last-r.plan.start)
		}
		r.rows = append(r.rows, row)
	}
}

// largestGap returns the longest gap of a step that ended at a time; nil without a
// measured window.
func (r *tickRows) largestGap(end int64) *results.Gap {
	end = min(end, r.grid.cut())
	if end <= r.grid.window {
		return nil
	}
	g := r.gaps.Longest(r.grid.window-r.plan.start, end-r.plan.start)
	return &g
}
