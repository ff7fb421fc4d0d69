package recovery

import (
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Disturbance is a time in which a cluster was disturbed, for example by a fault.
type Disturbance struct {
	From, To time.Time
	// Since is when the previous disturbance ended, and Until when the next one begins; either
	// may be zero.
	Since, Until time.Time
	// Before is the recovery from the previous disturbance, whose level applies if the time
	// since then is too short, or nil.
	Before *Recovery
}

// Recovery is a disturbance's effect on a load. Times count from when the disturbance begins; -1 is
// a time that did not come before the next disturbance or the end of the measured load.
type Recovery struct {
	// Level is the ok requests per second in the time Before the disturbance, and with a rate no
	// more than were due: a load that catches up does not stay that fast. If that time was too
	// short, Before is 0 and the level is that of the previous disturbance. Pending is the most
	// requests pending then.
	Level   float64       `json:"level"`
	Before  time.Duration `json:"before_ns"`
	Pending int64         `json:"pending"`
	// Blackout is the longest time without an ok answer, exact if it is longer than a tick. It
	// began at BlackoutAt.
	Blackout   time.Duration `json:"blackout_ns"`
	BlackoutAt time.Duration `json:"blackout_at_ns"`
	// Below is the time in which seconds had less than 95 % of the level. To95 is when every
	// second had 95 % again for two seconds, with answers in each tick; 0 if no second ever had
	// less.
	Below time.Duration `json:"below_ns"`
	To95  time.Duration `json:"to_95_ns"`
	// BacklogGone is when no more requests were pending than before. It is 0 for loads without
	// a rate, which have no backlog.
	BacklogGone time.Duration `json:"backlog_gone_ns"`
	// Failed and Unknown count the failed and unknown requests until the load had recovered.
	Failed  int64 `json:"failed"`
	Unknown int64 `json:"unknown"`
	// Recovered reports that the disturbance was over and the load as before, for two seconds
	// without a failed or unknown request. Until is that time, or when the search for it ended.
	Recovered bool      `json:"recovered"`
	Until     time.Time `json:"until"`
}

const (
	// before is the time before a disturbance that determines the level, and least the shortest
	// such time.
	before = 10 * time.Second
	least  = time.Second
	// share is the part of the level that counts as recovered.
	share = 0.95
	// dip is the time over which a rate is compared with the level, and steadyFor the time for
	// which a recovered load keeps the level.
	dip       = time.Second
	steadyFor = 2 * time.Second
	// fewest is the number of requests that a tick must have at the level for each tick to need an
	// answer.
	fewest = 5
	// Never is a time that did not come.
	Never = -1
)

// Of returns the recovery from a disturbance, nil if the load has no second before it to compare
// with.
func (t *Timeline) Of(d Disturbance) *Recovery {
	from, end := d.From.UnixNano(), t.end(d)
	level := t.before(d)
	r := &Recovery{Level: level.rate(), Before: level.length, Pending: level.most, To95: Never, BacklogGone: Never}
	if level.length < least || level.ok == 0 {
		if d.Before == nil {
			return nil
		}
		r.Level, r.Before, r.Pending = d.Before.Level, 0, d.Before.Pending
	}
	if end <= from {
		return nil
	}
	l := look{t, from, end, r}
	l.end = l.settled(d.To.UnixNano())
	l.dips()
	b := backlog{l: l, next: t.since(from), gone: Never}
	if b.until(l.end); b.gone != Never {
		r.BacklogGone = time.Duration(b.gone - from)
	} else if !b.grew {
		r.BacklogGone = 0
	}
	l.recovered(d.To.UnixNano())
	l.blackout()
	for i := t.since(from - int64(results.ProgressTick)); i < len(t.ticks) && t.ticks[i].from < r.Until.UnixNano(); i++ {
		r.Failed += t.ticks[i].failed
		r.Unknown += t.ticks[i].unknown
	}
	return r
}

// end returns when the search for a recovery ends.
func (t *Timeline) end(d Disturbance) int64 {
	end := int64(0)
	for _, k := range t.ticks {
		if k.measured {
			end = k.to
		}
	}
	if next := d.Until; !next.IsZero() {
		end = min(end, next.UnixNano())
	}
	return end
}

// before sums the measured ticks before a disturbance, for its level.
func (t *Timeline) before(d Disturbance) (s sum) {
	due := int64(0)
	since := d.From.Add(-before)
	if d.Since.After(since) {
		since = d.Since
	}
	for i := t.since(since.UnixNano()); i < len(t.ticks) && t.ticks[i].to <= d.From.UnixNano(); i++ {
		if k := t.ticks[i]; k.measured {
			s.ok, s.most, s.length = s.ok+k.ok, max(s.most, k.pending), s.length+time.Duration(k.to-k.from)
			due += k.due
		}
	}
	if t.rated {
		s.ok = min(s.ok, due)
	}
	return s
}

// look looks at a load from where a disturbance begins until an end.
type look struct {
	t         *Timeline
	from, end int64
	r         *Recovery
}

// low reports whether the second from a time on has less than the share of the level. A second not
// over when the look ends is low.
func (l look) low(at int64) bool {
	until := at + int64(dip)
	return until > l.end || l.t.over(l.t.since(at), at, until).rate() < share*l.r.Level
}

// steady reports whether the load has its level from a time on, and clean whether nothing
// failed from then on: a backlog that is answered at once must not hide the time without
// answers before it.
func (l look) steady(at int64) (steady, clean bool) {
	for from := at; from <= at+int64(steadyFor-dip); from += int64(results.ProgressTick) {
		if l.low(from) {
			return false, false
		}
	}
	s := l.t.over(l.t.since(at), at, at+int64(steadyFor))
	expected := l.r.Level * results.ProgressTick.Seconds()
	if expected >= fewest && s.answered < int(steadyFor/results.ProgressTick)-1 {
		return false, false
	}
	return true, s.bad == 0
}

// settled returns when the shortest look ends that finds the load recovered, or else when this
// one ends: later changes do not come from the disturbance. So a look at a running load finds the
// same as a later look.
func (l look) settled(over int64) int64 {
	const tick = int64(results.ProgressTick)
	low, back := int64(Never), int64(Never)
	b := backlog{l: l, next: l.t.since(l.from), gone: Never}
	begin, at := int64(Never), int64(0) // the steady time after all effects
	for end := l.from + int64(dip); end <= l.end; end += tick {
		if low == Never && l.low(end-int64(dip)) {
			low = end - int64(dip)
		}
		if from := end - int64(steadyFor); low != Never && back == Never && from >= low {
			if steady, _ := l.steady(from); steady {
				back = from
			}
		}
		b.until(end)
		if low != Never && back == Never || b.grew && b.gone == Never {
			continue
		}
		if behind := max(over, back, b.gone); behind != begin {
			begin, at = behind, behind
		}
		for ; at+int64(steadyFor) <= end; at += tick {
			if _, clean := l.steady(at); clean {
				return end
			}
		}
	}
	return l.end
}

// backlog follows the pending requests in a look.
type backlog struct {
	l    look
	next int // tick
	// grew is whether more were pending than before the disturbance, and gone is when this first
	// ended.
	grew bool
	gone int64
}

// until takes the ticks until a time. Loads without a rate have no backlog.
func (b *backlog) until(end int64) {
	t := b.l.t
	for ; t.rated && b.next < len(t.ticks) && t.ticks[b.next].to <= end; b.next++ {
		switch k := t.ticks[b.next]; {
		case k.pending > b.l.r.Pending:
			b.grew = true
		case b.grew && b.gone == Never:
			b.gone = k.to
		}
	}
}

// dips finds the time for which the rate was below the level, and when it was back.
func (l look) dips() {
	first := int64(Never)
	for at := l.from; at+int64(dip) <= l.end; at += int64(results.ProgressTick) {
		low := l.low(at)
		if low && first == Never {
			first = at
		}
		if low {
			l.r.Below += results.ProgressTick
		}
		if first == Never || l.r.To95 != Never {
			continue
		}
		if steady, _ := l.steady(at); steady {
			l.r.To95 = time.Duration(at - l.from)
		}
	}
	if first == Never {
		l.r.To95 = 0
	}
}

// recovered finds when the load was as before. over is when the disturbance ended.
func (l look) recovered(over int64) {
	r := l.r
	r.Until = time.Unix(0, l.end).UTC()
	if r.To95 == Never || r.BacklogGone == Never {
		return
	}
	at := max(over, l.from+int64(max(r.To95, r.BacklogGone)))
	for ; at+int64(steadyFor) <= l.end; at += int64(results.ProgressTick) {
		if _, clean := l.steady(at); clean {
			r.Recovered, r.Until = true, time.Unix(0, at).UTC()
			return
		}
	}
}

// blackout finds the longest time without an ok answer, from the last one before the
// disturbance until the load had recovered.
func (l look) blackout() {
	last := l.from
	for i := l.t.since(l.from-int64(before)) - 1; i < len(l.t.ticks); i++ {
		if i < 0 || l.t.ticks[i].lastOK == 0 {
			continue
		}
		k := l.t.ticks[i]
		switch {
		case k.lastOK <= l.from: // the last answer before, so far
			last = k.lastOK
			continue
		case k.firstOK <= l.from: // the disturbance began between two answers in the tick
			last = k.lastOK
			continue
		}
		l.gap(last, min(k.firstOK, l.end))
		if last = k.lastOK; k.from >= l.r.Until.UnixNano() {
			return
		}
	}
	l.gap(last, l.end)
}

// gap notes a time without an ok answer.
func (l look) gap(from, to int64) {
	if gap := time.Duration(to - from); gap > l.r.Blackout {
		l.r.Blackout, l.r.BlackoutAt = gap, time.Duration(from-l.from)
	}
}
