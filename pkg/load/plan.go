package load

import (
	"math"

	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/load/schedule"
)

// plan is what a step sends and when. Times are nanoseconds by the recorder clock.
type plan struct {
	Step
	spec     Spec
	schedule schedule.Schedule
	work     *requests.Sequence
	first    int64 // request 0 in this step, by number
	others   int64 // requests by other parts between two in this step
	start    int64
	phaseEnd [numPhases]int64 // after start
}

// number returns the number in the load for request i in this step.
func (p *plan) number(i int64) int64 { return p.first + i*(1+p.others) }

// count adds this step's requests in the half-open range [from, to) to into, by operation.
func (p *plan) count(from, to int64, into []int64) {
	p.work.CountEvery(p.number(from), 1+p.others, to-from, into)
}

// rated reports whether requests have due times, instead of being due when a client is free.
func (p *plan) rated() bool { return p.Rate > 0 }

// phases sets where the warm-up and the measured phase end.
func (p *plan) phases() {
	p.phaseEnd = [numPhases]int64{int64(p.spec.WarmUp), math.MaxInt64, math.MaxInt64}
	if p.Duration > 0 && p.spec.CoolDown > 0 {
		p.phaseEnd[measure] = int64(p.Duration - p.spec.CoolDown)
	}
}

// phase returns a request's phase by its due time after the step starts.
func (p *plan) phase(due int64) int {
	switch {
	case due < p.phaseEnd[warmUp]:
		return warmUp
	case due < p.phaseEnd[measure]:
		return measure
	default:
		return coolDown
	}
}

// coolDownStart returns when the cool-down begins.
func (p *plan) coolDownStart() int64 {
	if p.phaseEnd[measure] == math.MaxInt64 {
		return math.MaxInt64
	}
	return p.start + p.phaseEnd[measure]
}

// has reports whether requests may belong to a phase.
func (p *plan) has(phase int) bool {
	begins := int64(0)
	if phase > 0 {
		begins = p.phaseEnd[phase-1]
	}
	return begins < p.phaseEnd[phase] && begins < math.MaxInt64
}

// window bounds the measured part of a step, as times by the recorder clock. The end is open if the
// step has no duration: it is measured until its last answer.
type window struct{ from, to int64 }

func (p *plan) window() window {
	w := window{from: p.start + p.phaseEnd[warmUp], to: math.MaxInt64}
	if p.Duration > 0 {
		w.to = p.start + min(int64(p.Duration), p.phaseEnd[measure])
	}
	return w
}

// grid returns the step ticks. Issue is when the step stops issuing.
func (p *plan) grid(issue *issueEnd) grid {
	w := p.window()
	return grid{window: w.from, planned: w.to, issue: issue}
}
