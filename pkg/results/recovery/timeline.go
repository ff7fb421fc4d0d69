// Package recovery measures the effect of a disturbance on a load and the time until the load is as
// before, from the ticks in its records.
package recovery

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Timeline is a load tick by tick, over all operations.
type Timeline struct {
	ticks []tick
	// rated reports whether requests had due times.
	rated bool
}

// tick counts the events in [from, to). Times are nanoseconds since the Unix epoch.
type tick struct {
	step                     int
	from, to                 int64
	due, ok, failed, unknown int64
	// firstOK and lastOK are when the first and the last request ended ok; 0 if no request did.
	firstOK, lastOK int64
	// pending counts the requests due or sent without an outcome at the end; more is the number by
	// which these are more than at the beginning.
	pending, more int64
	measured      bool
}

// Read reads the ticks from a run folder.
func Read(dir string, run *results.DatabaseRun) (*Timeline, error) {
	rows, err := results.ReadProgress(filepath.Join(dir, results.FileProgress))
	if err != nil && !errors.Is(err, results.ErrTruncated) {
		return nil, err
	}
	return newTimeline(rows, run), nil
}

// newTimeline sums progress.csv rows over the operations.
func newTimeline(rows []results.Progress, run *results.DatabaseRun) *Timeline {
	t := &Timeline{rated: run.Load.Rated()}
	for _, s := range run.Steps {
		t.addStep(rows, run, s)
	}
	return t
}

// addStep adds a step's ticks. Nothing is pending when a step ends.
func (t *Timeline) addStep(rows []results.Progress, run *results.DatabaseRun, s results.Step) {
	from, to := run.Measured(s)
	t.add(rows, part{step: s.Index, start: s.Start.UnixNano(), from: from.UnixNano(), to: to.UnixNano()})
}

// part has the bounds of a step's measured part.
type part struct {
	step     int
	start    int64 // of the step
	from, to int64
}

// add adds rows from a step, not earlier than the steps added before. A row for a known tick adds
// to that tick.
func (t *Timeline) add(rows []results.Progress, p part) {
	first := len(t.ticks) // among the ticks that change
	for _, r := range rows {
		if r.Step != p.step {
			continue
		}
		at := tick{step: p.step, from: p.start + r.FromNS, to: p.start + r.ToNS}
		i, found := slices.BinarySearchFunc(t.ticks, at, func(a, b tick) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.from, b.from)) })
		if !found {
			at.measured = at.from >= p.from && at.to <= p.to
			t.ticks = slices.Insert(t.ticks, i, at)
		}
		first = min(first, i)
		k := &t.ticks[i]
		k.to = max(k.to, at.to)
		k.due += r.Due
		k.ok, k.failed, k.unknown = k.ok+r.OK, k.failed+r.Failed, k.unknown+r.Unknown
		k.more += r.Due - r.OK - r.Failed - r.Unknown - r.Shed - r.Unsent
		if r.LastOKNS != 0 {
			if k.lastOK == 0 || p.start+r.FirstOKNS < k.firstOK {
				k.firstOK = p.start + r.FirstOKNS
			}
			k.lastOK = max(k.lastOK, p.start+r.LastOKNS)
		}
	}
	for ; first < len(t.ticks); first++ {
		k := &t.ticks[first]
		k.pending = k.more
		if first > 0 && t.ticks[first-1].step == k.step {
			k.pending += t.ticks[first-1].pending
		}
	}
}

// Tick counts the requests that ended ok from a time on, for a length.
type Tick struct {
	From   time.Time
	Length time.Duration
	OK     int64
}

// Between returns the ticks that begin in [from, until). Nothing happened in missing ticks.
func (t *Timeline) Between(from, until time.Time) (ticks []Tick) {
	for i := t.since(from.UnixNano()); i < len(t.ticks) && t.ticks[i].from < until.UnixNano(); i++ {
		k := t.ticks[i]
		ticks = append(ticks, Tick{time.Unix(0, k.from).UTC(), time.Duration(k.to - k.from), k.ok})
	}
	return ticks
}

// since returns the number of the first tick that begins at a time or later.
func (t *Timeline) since(at int64) int {
	i, _ := slices.BinarySearchFunc(t.ticks, at, func(k tick, at int64) int { return cmp.Compare(k.from, at) })
	return i
}

// sum adds up the counts of some ticks.
type sum struct {
	length time.Duration
	ok     int64
	bad    int64 // failed and unknown
	most   int64 // the most pending
	// answered are the ticks with an ok request.
	answered int
}

// rate returns the ok requests per second.
func (s sum) rate() float64 {
	if s.length <= 0 {
		return 0
	}
	return float64(s.ok) / s.length.Seconds()
}

// over sums the ticks from number i on that begin before a time. Missing ticks, in which
// nothing happened, count as time without an answer.
func (t *Timeline) over(i int, from, until int64) (s sum) {
	for ; i < len(t.ticks) && t.ticks[i].from < until; i++ {
		k := t.ticks[i]
		s.ok, s.bad, s.most = s.ok+k.ok, s.bad+k.failed+k.unknown, max(s.most, k.pending)
		if k.ok > 0 {
			s.answered++
		}
	}
	s.length = time.Duration(until - from)
	return s
}
