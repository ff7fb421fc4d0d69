package judge

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Step is the evidence on one step. Its counts are of the requests that were due in
// the measured window, or sent in it in a closed loop.
type Step struct {
	// Index counts from 0.
	Index, Clients int
	// Rated is whether requests had due times.
	Rated bool
	// Overloads is whether the step goes past what the database serves on purpose: how
	// much of its load was answered is then a result.
	Overloads bool
	// Swept is whether it is one of the rates of a sweep.
	Swept bool

	OK, Failed, Unknown, Shed, Unsent int64
	// Queued found every client busy when they were due. Late were sent late though a
	// client was free.
	Queued, Late int64
	// Excused are those of Failed that are part of the workload: swaps that lost a
	// race, and reads of keys that the load deletes.
	Excused int64

	// Answered is how many requests ended ok inside the window, whenever they were due.
	// Offered is how many it could answer: those that were due in it. Both are of steps
	// with a rate only.
	Answered, Offered float64

	// Waits are the requests that were due and not sent when the window ended.
	Waits int64

	// Waiting is the clients' time without a server, of all their time. ClientDelay is
	// the delay that the client caused itself, of the response times. ClientOwn is the part
	// of it that was recorded request by request: how late they were sent, and how long the
	// client was stopped. Nil is not recorded.
	Waiting, ClientDelay, ClientOwn *Part
}

// Part is a time within another.
type Part struct{ Is, Of time.Duration }

// due counts the requests that were due in the window.
func (s Step) due() int64 { return s.OK + s.Failed + s.Unknown + s.Shed + s.Unsent }

// name is used in the texts of marks.
func (s Step) name() string {
	if s.Clients == 1 {
		return fmt.Sprintf("step %d, 1 client", s.Index+1)
	}
	return fmt.Sprintf("step %d, %d clients", s.Index+1, s.Clients)
}

// steps judges every step by the bounds of the load.
func (v *verdict) steps() {
	bounds := v.bounds()
	for _, s := range v.e.Steps {
		j := stepJudge{verdict: v, step: s, bounds: bounds, expect: v.e.Run.Load.Expect}
		j.outcomes()
		j.unsent()
		j.achieved()
		j.queueing()
		j.waiting()
		if len(v.e.Generators) == 0 { // else each is judged by itself
			j.late()
			j.clientDelay()
		}
		j.answered()
	}
}

// stepJudge judges one step.
type stepJudge struct {
	*verdict
	step   Step
	bounds workload.Judge
	expect workload.Expect
	// expected are requests that did not end ok, as the load expects.
	expected int64
	// invalid is whether an outcome of the step made the run invalid.
	invalid bool
}

// share is a part of a whole, as a mark reports it.
type share struct {
	is, of float64
	// what is a text with one verb: the share in percent.
	what string
	// numbers are is and of as text.
	numbers string
}

func (s share) percent() float64 { return 100 * s.is / s.of }

// text is the share with both its numbers. It has four digits, or as many as it
// takes to be on the same side of the bound.
func (s share) text(bound workload.Percent) string {
	for digits := 4; ; digits++ {
		printed := strconv.FormatFloat(s.percent(), 'g', digits, 64)
		rounded, _ := strconv.ParseFloat(printed, 64) // it was printed just now
		if digits == 17 || (s.percent() < float64(bound)) == (rounded < float64(bound)) && (s.percent() > float64(bound)) == (rounded > float64(bound)) {
			return fmt.Sprintf(s.what, printed+" %") + ": " + s.numbers
		}
	}
}

// slack keeps the rounding of a division from deciding: it is in percent.
const slack = 1e-9

// above judges a share that must not be above its bounds. It returns whether the
// share is above the first.
func (j *stepJudge) above(code string, s share, b workload.Bounds, mayInvalidate bool) bool {
	switch p := s.percent(); {
	case p > float64(b.Invalid)+slack && mayInvalidate:
		j.invalid = true
		j.mark(code, true, "%s: %s (invalid above %s)", j.step.name(), s.text(b.Invalid), b.Invalid)
	case p > float64(b.Mark)+slack:
		j.mark(code, false, "%s: %s (mark above %s)", j.step.name(), s.text(b.Mark), b.Mark)
	default:
		return false
	}
	return true
}

// outcomes judges the requests that did not end ok.
func (j *stepJudge) outcomes() {
	s := j.step
	j.outcome(results.MarkFailed, s.Failed-s.Excused, "%s of the requests failed", "failed requests", j.bounds.Failed, j.expect.Failed)
	j.outcome(results.MarkUnknown, s.Unknown, "%s of the requests have an unknown outcome", "unknown outcomes", j.bounds.Unknown, j.expect.Unknown)
}

// outcome judges one outcome. Up to the share that the load expects it is stated.
func (j *stepJudge) outcome(code string, n int64, what, noun string, b workload.Bounds, expect workload.Percent) {
	due := j.step.due()
	if due == 0 {
		return
	}
	s := share{float64(n), float64(due), what, fmt.Sprintf("%d of %d", n, due)}
	if expect > 0 && s.percent() <= float64(expect)+slack {
		j.expected += n
		j.mark(results.MarkExpected, false, "%s: %s; the load expects %s up to %s", j.step.name(), s.text(expect), noun, expect)
		return
	}
	j.above(code, s, b, !j.isResult())
}

// isResult reports whether failures of the step are a result of their own: of one rate of
// a sweep, which says nothing about the others, or of the hold after a search that found a
// capacity.
func (j *stepJudge) isResult() bool {
	c := j.e.Run.Capacity
	return j.step.Swept || c != nil && c.Found()
}

// busyShare is the share of requests in percent that may find every client busy, or
// be sent late by a free client, without a mark.
const busyShare = 1

// unsent judges the requests that were never sent. A step that overloads on purpose
// leaves them, and so does a load that accepts any share of its rate.
func (j *stepJudge) unsent() {
	s := j.step
	if s.due() == 0 {
		return
	}
	left := share{float64(s.Unsent), float64(s.due()), "%s of the requests were due and not sent", fmt.Sprintf("%d of %d within %v after the end", s.Unsent, s.due(), j.e.Drain)}
	j.above(results.MarkUnsent, left, j.bounds.Unsent, !s.Overloads && !j.isResult() && j.bounds.Achieved.Invalid > 0)
}

// achieved judges whether a rate was sustained. Failures that the load expects are
// no part of what could be answered.
func (j *stepJudge) achieved() {
	s, b := j.step, j.bounds.Achieved
	offered := s.Offered - float64(j.expected+s.Excused)
	if !s.Rated || s.due() == 0 {
		return
	}
	got := share{s.Answered, offered, "%s of the offered requests ended ok in the window", fmt.Sprintf("%.0f of %.0f", s.Answered, offered)}
	switch p := got.percent(); {
	case offered < 1 || p >= float64(b.Mark)-slack:
	case s.Overloads:
		j.mark(results.MarkRate, false, "%s: %s; the step overloads on purpose, so this is its result", s.name(), got.text(b.Mark))
	case p < float64(b.Invalid)-slack && !j.isResult():
		j.invalid = true
		j.mark(results.MarkRate, true, "%s: %s (invalid below %s)", s.name(), got.text(b.Invalid), b.Invalid)
	default:
		j.mark(results.MarkRate, false, "%s: %s (mark below %s)", s.name(), got.text(b.Mark), b.Mark)
	}
}

// queueing marks a step whose requests waited for a free client, whether its rate was
// achieved or not: its response times are partly those of the queue. In a step that
// overloads on purpose that is a result.
func (j *stepJudge) queueing() {
	s := j.step
	if !s.Rated || s.due() == 0 || s.Overloads {
		return
	}
	n := s.Queued + s.Shed + s.Unsent
	waited := share{float64(n), float64(s.due()), "%s of the requests found every client busy when they were due",
		fmt.Sprintf("%d of %d, and %d waited when the window ended", n, s.due(), s.Waits)}
	j.above(results.MarkQueueing, waited, workload.Bounds{Mark: busyShare}, false)
}

// late marks a client that sent late though it was free.
func (j *stepJudge) late() {
	s := j.step
	if !s.Rated || s.due() == 0 {
		return
	}
	late := share{float64(s.Late), float64(s.due()), "%s of the requests were sent over 1 ms late though a client was free", fmt.Sprintf("%d of %d", s.Late, s.due())}
	j.above(results.MarkLate, late, workload.Bounds{Mark: busyShare}, false)
}

// waiting judges the clients' time without a server. Where the load expects to lose one,
// it is a result.
func (j *stepJudge) waiting() {
	if w := j.step.Waiting; w != nil && w.Of > 0 {
		j.above(results.MarkWaiting, w.share("clients had no server for %s of their time"), j.bounds.Waiting, !j.lostAsExpected())
	}
}

// clientDelay judges the delay that the client caused itself. How late it read answers is
// taken from its timers, and on a shared machine the members may have taken its processors:
// then that part makes the run invalid only if the client used up the processors itself.
// What was recorded of each request, sent late or held up by a stop, is no answer of a
// database on any machine.
func (j *stepJudge) clientDelay() {
	d, own := j.step.ClientDelay, j.step.ClientOwn
	if d == nil || d.Of <= 0 {
		return
	}
	const what = "%s of the response times is the client's own delay"
	recorded := own != nil && own.Of > 0 && own.share(what).percent() > float64(j.bounds.ClientDelay.Invalid)+slack
	j.above(results.MarkSaturated, d.share(what), j.bounds.ClientDelay, !j.sharedHost() || j.usedUp() || recorded)
}

// share is between 0 and 1.
func (p Part) share(what string) share {
	return share{float64(p.Is), float64(p.Of), what, fmt.Sprintf("%v of %v", rounded(p.Is), rounded(p.Of))}
}

// rounded is a duration with three digits or so.
func rounded(d time.Duration) time.Duration {
	for unit := time.Microsecond; unit < time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

// answered finds a step that measured nothing, which no bound makes valid.
func (j *stepJudge) answered() {
	s := j.step
	switch {
	case j.invalid || s.OK > 0:
	case s.due() == 0:
		j.mark(results.MarkNothing, true, "%s: no request was due in the measured window", s.name())
	case s.due() > j.expected+s.Excused:
		// The curve of a sweep may end so, but one that never began is none.
		began := !s.Swept || slices.ContainsFunc(j.e.Steps, func(o Step) bool { return o.OK > 0 })
		j.mark(results.MarkNothing, !j.isResult() || !began, "%s: none of %d requests ended ok", s.name(), s.due())
	}
}
