// Package stalls finds the stretches of a load in which far fewer requests ended ok than were
// due, from the ticks in its records.
package stalls

import (
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

const (
	// Share is a fraction of a slot's expected requests: a slot with fewer is stalled.
	Share = 0.5
	// leastExpected is the fewest requests to be expected in a slot on average: with fewer, only
	// half would often end in a slot by chance. leastDue is the fewest in one judged slot.
	leastExpected, leastDue = 50, 25
	// mostTicks is the most ticks in a slot, and mostJudged in a run (three days).
	mostTicks, mostJudged = 10, 3_000_000
)

// Step lists the stalls in a step. Its measured window is cut into slots, one tick long or, if few
// requests end in a tick, several.
type Step struct {
	Index int
	From  time.Time
	// Slot is a slot's length, 0 if the step is not judged, for the reason Why.
	Slot time.Duration
	Why  string
	// Slots counts the slots in the window. Stopped counts those in which this client did not
	// run; they were not judged.
	Slots, Stopped int
	// Median reports that slots were compared with the median slot instead of the due requests.
	Median bool
	Stalls []Stretch

	stopped []bool // by slot, nil if the client always ran
}

// Stretch is the slots [From, To) of a step, with the requests that ended ok in them and the
// requests to be expected.
type Stretch struct {
	From, To     int
	OK, Expected int64
}

// At returns when a slot begins.
func (s *Step) At(slot int) time.Time { return s.From.Add(time.Duration(slot) * s.Slot) }

// Judged returns how many slots in [from, to) were judged.
func (s *Step) Judged(from, to int) (n int) {
	for i := from; i < to; i++ {
		if s.stopped == nil || !s.stopped[i] {
			n++
		}
	}
	return n
}

// Length returns a stretch's duration.
func (s *Step) Length(of Stretch) time.Duration { return time.Duration(of.To-of.From) * s.Slot }

// count counts the requests that were due, and those that ended ok, in a tick or a slot.
type count struct{ due, ok int64 }

// Finder finds the stalls in a run from its progress.csv rows. It is not safe for concurrent use.
type Finder struct {
	run    *results.DatabaseRun
	steps  []Step
	ticks  map[int][]count
	window map[int]time.Duration // from where a step starts to its window
}

// NewFinder returns a finder without rows yet.
func NewFinder(run *results.DatabaseRun) *Finder {
	f := &Finder{run: run, ticks: map[int][]count{}, window: map[int]time.Duration{}}
	all := int64(0)
	for _, s := range run.Steps {
		from, to := run.Measured(s)
		one := Step{Index: s.Index, From: from.UTC()}
		// The last tick, in which the step ends, is not judged.
		switch n := int64(to.Sub(from)/results.ProgressTick) - 1; {
		case s.Start.IsZero() || s.End.IsZero():
			one.Why = "its end was not recorded"
		case n < 1:
			one.Why = "it has no measured window"
		case n > mostJudged-all:
			one.Why = "the run is too long"
		case f.ticks[s.Index] != nil:
			one.Why = "it was recorded twice"
		default:
			all += n
			f.ticks[s.Index], f.window[s.Index] = make([]count, n), from.Sub(s.Start.Round(0))
		}
		f.steps = append(f.steps, one)
	}
	return f
}

// Add adds a row.
func (f *Finder) Add(p *results.Progress) {
	list := f.ticks[p.Step]
	after := p.FromNS - int64(f.window[p.Step])
	if i := after / int64(results.ProgressTick); after >= 0 && i < int64(len(list)) {
		list[i].due, list[i].ok = list[i].due+p.Due, list[i].ok+p.OK
	}
}

// Steps returns the steps with the stalls in all rows. It must be called once, after the last row.
func (f *Finder) Steps() []Step {
	for i := range f.steps {
		if s := &f.steps[i]; s.Why == "" {
			s.judge(f.ticks[s.Index], f.run.Timing(s.Index) == results.TimingResponse, f.run.Stopped())
		}
	}
	return f.steps
}

// Read finds the stalls in the records of a run, in folder dir. Its errors are as in
// [results.EachProgress]; records in older formats have no ticks.
func Read(dir string, run *results.DatabaseRun) ([]Step, error) {
	f := NewFinder(run)
	if err := results.EachProgress(dir, f.Add); err != nil {
		return nil, err
	}
	return f.Steps(), nil
}

// judge finds the stalls in a step.
func (s *Step) judge(ticks []count, rated bool, stopped []results.Stretch) {
	var sum count
	for _, t := range ticks {
		sum.due, sum.ok = sum.due+t.due, sum.ok+t.ok
	}
	expected := sum.ok
	if rated {
		expected = sum.due
	}
	n := 1
	if expected < int64(leastExpected*len(ticks)) {
		n = mostTicks + 1
		if expected > 0 {
			n = min(n, int((int64(leastExpected*len(ticks))+expected-1)/expected))
		}
	}
	if n > mostTicks || len(ticks) < n {
		perSecond := leastExpected * time.Second / (mostTicks * results.ProgressTick)
		s.Why = fmt.Sprintf("fewer than %d requests a second are too few to judge", perSecond)
		return
	}
	slots := make([]count, len(ticks)/n)
	for i, t := range ticks[:n*len(slots)] {
		slots[i/n].due, slots[i/n].ok = slots[i/n].due+t.due, slots[i/n].ok+t.ok
	}
	s.Slot, s.Slots = time.Duration(n)*results.ProgressTick, len(slots)
	without := s.without(stopped)
	if s.find(slots, rated, without); s.Stopped > 0 {
		s.stopped = without
	}
}

// without reports, by slot, which slots are not judged because the client did not run for a part
// of them.
func (s *Step) without(stopped []results.Stretch) []bool {
	out := make([]bool, s.Slots)
	for _, stop := range stopped {
		from, to := max(stop.From.Sub(s.From), 0), stop.To().Sub(s.From)
		for i := int(from / s.Slot); i < s.Slots && time.Duration(i)*s.Slot < to; i++ {
			out[i] = true
		}
	}
	return out
}

// find joins adjacent stalled slots.
func (s *Step) find(slots []count, rated bool, without []bool) {
	var oks []int64
	low, judged := 0, 0
	for i, c := range slots {
		if without[i] {
			s.Stopped++
			continue
		}
		oks = append(oks, c.ok)
		judged++
		if rated && float64(c.ok) < Share*float64(c.due) {
			low++
		}
	}
	s.Median = !rated || 2*low > judged
	median := int64(0)
	if s.Median {
		if len(oks) > 0 {
			slices.Sort(oks)
			median = oks[len(oks)/2]
		}
		if median < leastDue {
			s.Slot, s.Why = 0, "in half of it next to nothing ended ok"
			return
		}
	}
	open := false
	for i, c := range slots {
		expected := c.due
		if s.Median {
			expected = median
		}
		if without[i] || expected < leastDue || float64(c.ok) >= Share*float64(expected) {
			open = false
			continue
		}
		if !open {
			s.Stalls = append(s.Stalls, Stretch{From: i, To: i})
		}
		open = true
		last := &s.Stalls[len(s.Stalls)-1]
		last.To, last.OK, last.Expected = i+1, last.OK+c.ok, last.Expected+expected
	}
}
