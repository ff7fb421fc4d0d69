package judge

import (
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/workload"
)

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
		j.memberShares()
		v.each(func(c *Client) { v.ownStep(c, s.Index) })
		j.answered()
	}
}

// ownStep judges how the client itself behaved in its part of a step.
func (v *verdict) ownStep(c *Client, index int) {
	for _, own := range v.stepsOf(c) {
		if own.Index == index {
			j := stepJudge{verdict: v, client: c, step: own, bounds: v.bounds()}
			j.late()
			j.clientDelay()
		}
	}
}

// outcomes judges the requests that did not end ok.
func (j *stepJudge) outcomes() {
	s := j.step
	j.outcome(mark.Failed, s.Failed-s.Excused, "failed", j.bounds.Failed, j.expect.Failed)
	j.outcome(mark.Outcomes, s.Unknown, "unknown", j.bounds.Unknown, j.expect.Unknown)
}

// outcome judges one outcome. Up to the share that the load expects, it only states it.
func (j *stepJudge) outcome(code string, n int64, name string, b workload.Bounds, expect workload.Percent) {
	due := j.step.due()
	if due == 0 {
		return
	}
	s := share{float64(n), float64(due), mark.Values{name: float64(n), "due": float64(due)}}
	if expect > 0 && s.percent() <= float64(expect)+slack {
		j.expected += n
		j.mark(mark.Expected, false, j.against(s, boundExpected, expect), nil)
		return
	}
	j.above(code, s, b, !j.isResult())
}

// isResult reports whether failures in the step are a result in themselves: at one rate in a sweep,
// which proves nothing about the others, or in the hold after a successful search.
func (j *stepJudge) isResult() bool { return j.step.Swept || j.step.Held }

// unsent judges requests that were never sent. Steps that overload on purpose leave them, and so do
// loads that accept any share of their rate.
func (j *stepJudge) unsent() {
	s := j.step
	if s.due() == 0 {
		return
	}
	left := share{float64(s.Unsent), float64(s.due()), mark.Values{"unsent": float64(s.Unsent), "due": float64(s.due()), "drain_seconds": j.e.Drain.Seconds()}}
	j.above(mark.Unsent, left, j.bounds.Unsent, !s.Overloads && !j.isResult() && j.bounds.Achieved.Invalid > 0)
}

// achieved judges whether the rate was sustained. Failures that the load expects do not count as
// answerable.
func (j *stepJudge) achieved() {
	s, b := j.step, j.bounds.Achieved
	offered := s.Offered - float64(j.expected+s.Excused)
	if !s.Rated || s.due() == 0 {
		return
	}
	got := share{s.Answered, offered, mark.Values{"ok": math.Round(s.Answered), "offered": math.Round(offered)}}
	switch p := got.percent(); {
	case offered < 1 || p >= float64(b.Mark)-slack:
	case s.Overloads:
		values := j.at(got.values)
		values["share_percent"] = got.percent()
		j.mark(mark.Rate, false, values, mark.Words{"because": "the step overloads on purpose, so this is its result"})
	case p < float64(b.Invalid)-slack && !j.isResult():
		j.invalid = true
		j.mark(mark.Rate, true, j.against(got, boundInvalid, b.Invalid), nil)
	default:
		j.mark(mark.Rate, false, j.against(got, boundMark, b.Mark), nil)
	}
}

// queueing marks a step whose requests waited for a free client, whether its rate was achieved or
// not: its response times partly measure the queue. If the step overloads on purpose, that is a
// result.
func (j *stepJudge) queueing() {
	s := j.step
	if !s.Rated || s.due() == 0 || s.Overloads {
		return
	}
	queued := "queued"
	if j.e.Run.Load.Bind == workload.BindClient {
		queued = "queued_own"
	}
	waited := s.waited()
	waited.values = mark.Values{queued: waited.is, "due": waited.of, "waits": float64(s.Waits)}
	j.above(mark.Queueing, waited, workload.Bounds{Mark: busyShare}, false)
}

// lateFrom is the delay from which a request is late.
const lateFrom = time.Millisecond

// late marks clients that sent late although they were free.
func (j *stepJudge) late() {
	s := j.step
	if !s.Rated || s.due() == 0 {
		return
	}
	late := share{float64(s.Late), float64(s.due()), mark.Values{"late": float64(s.Late), "due": float64(s.due()), "late_seconds": lateFrom.Seconds()}}
	if s.ClientOwn != nil && s.ClientOwn.Of > 0 {
		late.values["own_percent"] = s.ClientOwn.percent()
	}
	j.above(mark.Late, late, workload.Bounds{Mark: busyShare}, false)
}

// waiting judges the time that clients had no server. It is a result where the load expects to lose
// one.
func (j *stepJudge) waiting() {
	if w := j.step.Waiting; w != nil && w.Of > 0 {
		j.above(mark.Waiting, w.share("waited_seconds"), j.bounds.Waiting, !j.lostAsExpected())
	}
}

// clientDelay judges the delay caused by the client itself. Its timers show the delay in reading
// answers. On a shared machine the members may have taken its processors, so that part makes the
// run invalid only if the client used up the processors itself. The recorded delay of requests,
// sent late or held up by a stop, does not belong to the answers of the database on any machine.
func (j *stepJudge) clientDelay() {
	d, own := j.step.ClientDelay, j.step.ClientOwn
	if d == nil || d.Of <= 0 {
		return
	}
	recorded := own != nil && own.Of > 0 && own.percent() > float64(j.bounds.ClientDelay.Invalid)+slack
	j.above(mark.Saturated, d.share("own_seconds"), j.bounds.ClientDelay, !j.sharesHost(j.client) || j.usedUp(j.client) || recorded)
}

// answered marks steps that measured nothing, which no bound makes valid.
func (j *stepJudge) answered() {
	s := j.step
	switch {
	case j.invalid || s.OK > 0:
	case s.due() == 0:
		j.mark(mark.Nothing, true, j.at(nil), nil)
	case s.due() > j.expected+s.Excused:
		// The curve of a sweep may end so, but without a beginning it is no curve.
		began := !s.Swept || slices.ContainsFunc(j.e.Steps, func(o Step) bool { return o.OK > 0 })
		j.mark(mark.Nothing, !j.isResult() || !began, j.at(mark.Values{"due": float64(s.due())}), nil)
	}
}
