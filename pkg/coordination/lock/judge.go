package lock

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/load/stops"
	"github.com/coreos/dbtester/pkg/results"
)

// Rules are the facts by which turns are judged. Times are nanoseconds on their clock.
type Rules struct {
	// From and To are when the stage was, and Contenders the number for each lock.
	From, To          int64
	Names, Contenders int
	// Places means that the recipe reports places.
	Places bool
	// Expires is the longest time that a session lasts after its last renewal, and Risky the
	// shortest stop that may end one. Earliest is when a lock passes after its holder's death.
	Expires, Risky, Earliest int64
	// Stops are this process's long stops.
	Stops stops.List
}

// slack returns the time by which a lock may pass on earlier than the rule allows: members count
// TTLs with their own clocks, in milliseconds.
func slack(ns int64) int64 { return int64(2*time.Millisecond) + ns/1000 }

// Seen is called with each observation: its name in the locks group, the time, and the value.
type Seen func(name string, at, number int64)

// Judge judges the turns of one stage.
func Judge(turns []locks.Turn, r Rules, seen Seen) locks.Stage {
	s := locks.Stage{Contenders: r.Contenders, From: r.From, To: r.To}
	j := &judge{Rules: r, seen: seen, stage: &s}
	byName := make([][]*locks.Turn, r.Names)
	for i := range turns {
		t := &turns[i]
		byName[t.Name] = append(byName[t.Name], t)
		j.one(t)
	}
	place := j.places()
	f := fairness{names: r.Names, contenders: r.Contenders}
	for n, all := range byName {
		held := inOrder(all)
		j.safety(held)
		j.passing(all, held)
		f.add(n, j, all, held, place)
	}
	s.Fairness = f.outcome(!r.Places)
	s.Wait, s.Held, s.HandOff = results.SpreadOf(j.waits), results.SpreadOf(j.holds), results.SpreadOf(j.handOffs)
	s.FailOver.Passed = results.SpreadOf(j.passed)
	if length := time.Duration(r.To - r.From).Seconds(); length > 0 {
		s.PerSecond = float64(s.Acquired) / length
	}
	return s
}

// inOrder returns the turns that had the lock, in the order in which it was acquired.
func inOrder(all []*locks.Turn) (held []*locks.Turn) {
	for _, t := range all {
		if t.Held() {
			held = append(held, t)
		}
	}
	slices.SortStableFunc(held, func(a, b *locks.Turn) int {
		return cmp.Or(cmp.Compare(a.Acquired, b.Acquired), cmp.Compare(a.Fence, b.Fence))
	})
	return held
}

// judge judges the turns of a stage.
type judge struct {
	Rules
	seen  Seen
	stage *locks.Stage

	waits, holds, handOffs, passed, releases []int64 // ns
}

// one counts a turn by itself.
func (j *judge) one(t *locks.Turn) {
	switch t.End {
	case locks.Refused:
		j.stage.Refused++
		j.seen(locks.ValueRefused, t.Asked, 1)
	case locks.Unclear:
		j.stage.Unclear++
	case locks.Lost:
		j.stage.Safety.Lost++
	case locks.Abandoned:
		j.stage.FailOver.Dead++
	case locks.Released:
		j.releases = append(j.releases, t.Released-t.Sent)
	}
	if t.Held() {
		j.stage.Acquired++
		j.waits, j.holds = append(j.waits, t.Acquired-t.Asked), append(j.holds, t.Sent-t.Acquired)
		j.seen(locks.ValueWait, t.Acquired, t.Acquired-t.Asked)
	}
}

// places returns a function for when a turn's place was certainly confirmed, 0 if unknown.
func (j *judge) places() func(*locks.Turn) int64 {
	if j.Places {
		return func(t *locks.Turn) int64 { return t.Placed }
	}
	release := results.SpreadOf(j.releases)
	if release == nil {
		return func(*locks.Turn) int64 { return 0 }
	}
	return func(t *locks.Turn) int64 { return t.Asked + release.P99 }
}

// safety judges whether two held a lock at once. held is in order.
func (j *judge) safety(held []*locks.Turn) {
	s := &j.stage.Safety
	deceived := map[*locks.Turn]bool{}
	var last *locks.Turn // whose contender believed the longest that it holds the lock
	for i, t := range held {
		believed := j.Stops.Believed(t.Acquired, t.Sent, j.Expires)
		if last != nil && t.Acquired < last.Sent {
			if j.stopped(last, t) {
				deceived[last] = true
			} else {
				s.Overlaps++
				j.seen(locks.ValueOverlap, t.Acquired, 1)
			}
		}
		if i > 0 && t.Fence <= held[i-1].Fence && !j.stopped(held[i-1], t) {
			s.Disorder++
			j.seen(locks.ValueDisorder, t.Acquired, 1)
		}
		if believed > 0 {
			deceived[t] = true
			s.LongestBelieved = max(s.LongestBelieved, time.Duration(believed))
		}
		if last == nil || t.Sent > last.Sent {
			last = t
		}
	}
	s.Believed += int64(len(deceived))
}

// stopped reports whether two turns may seem to overlap because this process stopped.
func (j *judge) stopped(a, b *locks.Turn) bool {
	return j.Stops.MayEnd(min(a.Acquired, b.Acquired), max(a.Sent, b.Acquired), j.Risky)
}

// passing judges each hand-off from one holder to the next. all are the turns for the lock's name.
func (j *judge) passing(all, held []*locks.Turn) {
	w := newWaiting(all)
	for i, t := range held {
		var next *locks.Turn
		if i+1 < len(held) {
			next = held[i+1]
		}
		switch {
		case t.End == locks.Abandoned && next == nil:
			j.stage.FailOver.NotTaken++
		case next == nil || next.Acquired < t.Sent:
		case t.End == locks.Abandoned:
			took := next.Acquired - t.Sent
			// A stop before the death may have delayed the last renewal.
			if short := j.Earliest - slack(j.Earliest) - took; short > 0 && short > j.Stops.Within(t.Sent-j.Expires, t.Sent) {
				j.stage.FailOver.Early++
			}
			j.passed = append(j.passed, took)
			j.seen(locks.ValueFailOver, next.Acquired, took)
		case t.End == locks.Released && w.at(t.Sent) > 0:
			took := max(next.Acquired-t.Sent-next.Stopped, 0)
			j.handOffs = append(j.handOffs, took)
			j.seen(locks.ValueHandOff, next.Acquired, took)
			if next.Stopped > 0 {
				j.stage.Delayed++
			}
		}
	}
}

// waiting counts the turns for a lock that wait at a time.
type waiting struct{ asked, over []int64 } // in order

func newWaiting(all []*locks.Turn) *waiting {
	w := &waiting{}
	for _, t := range all {
		w.asked = append(w.asked, t.Asked)
		w.over = append(w.over, over(t))
	}
	slices.Sort(w.asked)
	slices.Sort(w.over)
	return w
}

// never is after all turns.
const never = 1 << 62

// over returns when a turn stopped waiting.
func over(t *locks.Turn) int64 {
	switch t.End {
	case locks.Waiting:
		return never
	case locks.Refused: // when is not known
		return t.Asked
	}
	return t.Acquired
}

// at returns the number that had asked before a time and got the lock after it.
func (w *waiting) at(ns int64) int { return before(w.asked, ns) - upTo(w.over, ns) }

// before returns the number of moments before one, and upTo the number not after it.
func before(moments []int64, ns int64) int {
	return sort.Search(len(moments), func(i int) bool { return moments[i] >= ns })
}

func upTo(moments []int64, ns int64) int { return before(moments, ns+1) }
