package clocks

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

const (
	// Window is the time from which only the exchange with the shortest round trip counts: the
	// others were delayed, and a delay is mostly in one direction.
	Window = 16 * time.Second
	// drift bounds the error of a clock that no time service keeps: 100 ppm.
	drift = 100e-6
)

// Track is the lead of a member clock over the client clock, over time. The offset is interpolated
// between exchanges that count, unless the clock surely was set between two exchanges. The zero
// value is a clock that agrees. Tracks do not change.
type Track struct {
	points []point // by the member clock
}

// point is one moment in both clocks, in unix nanoseconds.
type point struct{ client, agent int64 }

// ahead returns the member clock's offset.
func (p point) ahead() int64 { return p.agent - p.client }

// window is a time with one offset.
type window struct {
	best     Exchange // the exchange with the shortest round trip
	from, to int64    // the first and the last exchange, in the client clock
	// set is whether the clock was set between this window and the one before it: no
	// drift explains both.
	set bool
}

// Fixed returns the track of a clock that is always offset ahead of the client clock.
func Fixed(offset time.Duration) Track {
	return Track{points: []point{{client: 0, agent: int64(offset)}}}
}

// NewTrack returns the track of a member; exchanges with others are left out. It returns false if
// no exchange is left.
func NewTrack(exchanges []Exchange, member int) (t Track, ok bool) {
	own := slices.DeleteFunc(slices.Clone(exchanges), func(e Exchange) bool { return e.Member != member })
	if len(own) == 0 {
		return Track{}, false
	}
	slices.SortStableFunc(own, func(a, b Exchange) int { return cmp.Compare(a.UnixNano, b.UnixNano) })
	list := windows(own)
	first, last := list[0], list[len(list)-1]
	t.add(first.from, first.best)
	t.add(last.to, last.best)
	for i, w := range list {
		if w.set {
			t.add(list[i-1].to, list[i-1].best)
			t.add(w.from, w.best)
		}
		if i > 0 && explains(list[i-1].best, w.best) || i+1 < len(list) && explains(list[i+1].best, w.best) {
			continue
		}
		t.add(w.best.UnixNano, w.best)
	}
	// A clock set back has some times twice; the times in between are right.
	slices.SortStableFunc(t.points, func(a, b point) int { return cmp.Compare(a.agent, b.agent) })
	return t, true
}

// add adds an exchange's offset at a time by the client clock.
func (t *Track) add(at int64, e Exchange) {
	t.points = append(t.points, point{client: at, agent: at + e.OffsetNS})
}

// windows divides exchanges, sorted by time, into windows no longer than [Window]; the last one
// may be half a Window longer. Setting the clock begins a new window.
func windows(sorted []Exchange) []window {
	var list []window
	last := sorted[len(sorted)-1].UnixNano
	for _, e := range sorted {
		w := window{best: e, from: e.UnixNano, to: e.UnixNano}
		if len(list) == 0 {
			list = append(list, w)
			continue
		}
		now := &list[len(list)-1]
		w.set = contradicts(now.best, e)
		switch full := e.UnixNano-now.from >= int64(Window) && last-e.UnixNano >= int64(Window)/2; {
		case w.set || full:
			list = append(list, w)
			continue
		case e.ErrorNS < now.best.ErrorNS:
			now.best = e
		}
		now.to = e.UnixNano
	}
	return list
}

// reach returns the most by which two offsets may differ: both errors, and the drift between them.
func reach(a, b Exchange) int64 {
	apart := a.UnixNano - b.UnixNano
	return a.ErrorNS + b.ErrorNS + int64(drift*float64(max(apart, -apart)))
}

// contradicts reports whether the clock was set between two exchanges.
func contradicts(a, b Exchange) bool {
	differ := a.OffsetNS - b.OffsetNS
	return max(differ, -differ) > reach(a, b)
}

// explains reports whether better bounds the offset at the time of e better than e itself does,
// even if the clock drifted, and does not contradict e.
func explains(better, e Exchange) bool {
	return reach(better, e)-e.ErrorNS < e.ErrorNS && !contradicts(better, e)
}

// Client converts a time by the member clock, in unix nanoseconds, into the client clock. Later
// times stay later, unless the clock was set back.
func (t Track) Client(agentNS int64) int64 {
	if len(t.points) == 0 {
		return agentNS
	}
	next := sort.Search(len(t.points), func(i int) bool { return t.points[i].agent >= agentNS })
	switch {
	case next == 0:
		return agentNS - t.points[0].ahead()
	case next == len(t.points):
		return agentNS - t.points[next-1].ahead()
	}
	from, to := t.points[next-1], t.points[next]
	part := float64(agentNS-from.agent) / float64(to.agent-from.agent)
	return agentNS - from.ahead() - int64(part*float64(to.ahead()-from.ahead()))
}
