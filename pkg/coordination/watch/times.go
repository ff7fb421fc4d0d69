package watch

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// The values in [watchers.Observed], in order.
const (
	valueSent = iota
	valueDue
	valueAll
	valueOld
	valueSlow
	valueFirst
	valueCaughtUp
	valueWrites
	valueBefore
	valueCoalesced
	valueLost
	valueDuplicate
	valueReordered
	valueWoken
	numValues

	numTimes = valueCaughtUp + 1
)

// mostOpen bounds the seconds that are open at a time, each of which has up to 1.5 MB. If late
// deliveries belong to more seconds than that, open seconds are written early, in parts.
const mostOpen = 16

// times holds the counts and durations by second and stage. A judge guards it.
type times struct {
	stages  []*stage
	open    map[cell]*second
	free    []*second
	seconds []observation.Second // that are complete, until they are taken
	values  bool                 // events have them
}

// stage is a fixed number of watchers from start to end, which is 0 while the stage lasts.
type stage struct {
	start, end int64
	writes     int64
	before     int64
	spent      [numTimes]histogram.Sum
	longest    [numTimes]int64

	// written is the number of deliveries that are due to slow watchers from writes answered ok
	// from released until caughtUp. Both times are 0 before they are known.
	released, caughtUp int64
	written            int64
}

type cell struct {
	second int64
	stage  int
}

// second holds the observations in one second.
type second struct {
	numbers [numValues]observation.Number
	spent   [numTimes]histogram.Sum
}

func newTimes(values bool) *times { return &times{open: map[cell]*second{}, values: values} }

// begin begins a stage, and end ends the last one.
func (t *times) begin(at int64) {
	t.stages = append(t.stages, &stage{start: at})
}

func (t *times) end(at int64) {
	if n := len(t.stages) - 1; n >= 0 && t.stages[n].end == 0 {
		t.stages[n].end = at
	}
}

// stageAt returns the stage at a time, and whether it lasted then.
func (t *times) stageAt(at int64) (index int, within bool) {
	for i, s := range t.stages {
		if s.start <= at {
			index, within = i, s.end == 0 || at < s.end
		}
	}
	return index, within
}

// second returns the second for a time.
func (t *times) second(at int64, stage int) *second {
	c := cell{at / int64(time.Second), stage}
	s := t.open[c]
	if s != nil {
		return s
	}
	if len(t.open) == mostOpen {
		t.flush(math.MaxInt64)
	}
	if n := len(t.free) - 1; n >= 0 {
		s, t.free = t.free[n], t.free[:n]
	} else {
		s = &second{}
	}
	t.open[c] = s
	return s
}

// add counts something.
func (t *times) add(at int64, value int, n int64) {
	index, _ := t.stageAt(at)
	number := &t.second(at, index).numbers[value]
	number.N++
	number.Value += n
}

// wrote counts a write that was sent at a time.
func (t *times) wrote(sent int64) {
	if index, within := t.stageAt(sent); within {
		t.add(sent, valueWrites, 1)
		t.stages[index].writes++
	}
}

// wroteToSlow counts a write that was answered ok at a time and is due to some slow watchers.
func (t *times) wroteToSlow(end int64, watchers int) {
	if watchers == 0 {
		return
	}
	for _, s := range t.stages {
		if s.released > 0 && end >= s.released && (s.caughtUp == 0 || end < s.caughtUp) {
			s.written += int64(watchers)
		}
	}
}

// deliveries records when the watchers that watched when a write was sent received it; negative
// means a newer one instead. Slow watchers are recorded apart. All means that it is known when the
// last other watcher did.
func (t *times) deliveries(w *write, list []*watcher, heard []int64, all bool) {
	index, within := t.stageAt(w.sent)
	if !within {
		return
	}
	watched := slices.ContainsFunc(list, func(one *watcher) bool { return one.since > 0 && one.since <= w.sent })
	if !watched {
		return
	}
	s, last, before := t.second(w.sent, index), int64(0), int64(0)
	for place, at := range heard {
		if since := list[place].since; since == 0 || since > w.sent {
			continue
		}
		if list[place].slow {
			if at > 0 {
				s.record(valueSlow, at-w.sent)
			}
			continue
		}
		last = max(last, at, -at)
		if at <= 0 {
			continue
		}
		s.record(valueSent, at-w.sent)
		s.record(valueDue, at-w.due)
		if w.acked && at < w.end {
			before++
		}
	}
	if all && last > 0 {
		t.allHeard(s, w, last)
	}
	if before > 0 {
		t.add(w.sent, valueBefore, before)
		t.stages[index].before += before
	}
	t.wrote(w.sent)
}

// allHeard records that all watchers had received a write or a newer one at a time.
func (t *times) allHeard(s *second, w *write, at int64) {
	s.record(valueAll, at-w.sent)
	if t.values {
		s.record(valueOld, at-w.due)
	}
}

// replaced records a write that no watcher received. All had received a newer one at a time, which
// is 0 if unknown.
func (t *times) replaced(w *write, at int64) {
	if index, within := t.stageAt(w.sent); within && at > 0 {
		t.allHeard(t.second(w.sent, index), w, at)
	}
	t.wrote(w.sent)
}

// took records the time for something that began at a moment.
func (t *times) took(began int64, value int, spent int64) {
	index, _ := t.stageAt(began)
	t.second(began, index).record(value, spent)
}

func (s *second) record(value int, spent int64) {
	spent = min(max(spent, 0), int64(histogram.MaxLatency))
	s.spent[value].Record(spent)
	n := &s.numbers[value]
	n.N, n.Value, n.Longest = n.N+1, n.Value+spent, max(n.Longest, spent)
}

// flush ends the seconds that were over for [observation.OpenFor] at a moment. Later deliveries
// open a second again: its parts are written one after the other, and add up.
func (t *times) flush(before int64) {
	for c, s := range t.open {
		if c.second > (before-int64(observation.OpenFor))/int64(time.Second)-1 {
			continue
		}
		delete(t.open, c)
		out := observation.Second{Second: c.second, Step: c.stage, Numbers: make([]observation.Number, numValues)}
		copy(out.Numbers, s.numbers[:])
		for i := range s.spent {
			if s.numbers[i].N == 0 {
				continue
			}
			out.Numbers[i].Times = s.spent[i].Take()
			if c.stage < len(t.stages) {
				st := t.stages[c.stage]
				st.spent[i].Add(out.Numbers[i].Times)
				st.longest[i] = max(st.longest[i], s.numbers[i].Longest)
			}
		}
		t.seconds = append(t.seconds, out)
		s.numbers = [numValues]observation.Number{}
		t.free = append(t.free, s)
	}
}

// take returns and forgets the seconds that were flushed, in order.
func (t *times) take() []observation.Second {
	if len(t.seconds) == 0 {
		return nil
	}
	seconds := t.seconds
	t.seconds = nil
	return watchers.Observed().Merge(seconds)
}

// spread returns a value's spread in a stage, nil without values.
func (s *stage) spread(value int) *results.Spread {
	spent := s.spent[value].Buckets()
	if spent == nil {
		return nil
	}
	all := histogram.New()
	spent.AddTo(all)
	return results.SpreadOfHistogram(all, s.longest[value])
}
