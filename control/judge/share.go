package judge

import (
	"maps"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/workload"
)

// share is a part of a whole, with the numbers shown in its mark.
type share struct {
	is, of float64
	values mark.Values
}

func (s share) percent() float64 { return 100 * s.is / s.of }

// exceeds reports whether s is above bound.
func (s share) exceeds(bound workload.Percent) bool { return s.percent() > float64(bound)+slack }

// slack keeps rounding in a division from deciding: it is in percent.
const slack = 1e-9

// share returns the part, with its length under a name.
func (p Part) share(name string) share {
	return share{float64(p.Is), float64(p.Of), mark.Values{name: p.Is.Seconds(), "of_seconds": p.Of.Seconds()}}
}

// percent returns the share, from 0 to 100.
func (p Part) percent() float64 { return 100 * float64(p.Is) / float64(p.Of) }

// waited returns the share of requests that found no free client when they were due.
func (s Step) waited() share {
	return share{is: float64(s.Queued + s.Shed + s.Unsent), of: float64(s.due())}
}

// stepJudge judges one step, or the part of one client in it.
type stepJudge struct {
	*verdict
	client *Client // nil for the whole step
	step   Step
	bounds workload.Judge
	expect workload.Expect
	// expected are requests that did not end ok, as the load expects.
	expected int64
	// invalid reports whether an outcome in the step made the run invalid.
	invalid bool
}

// mark adds a mark, with the name of the client.
func (j *stepJudge) mark(code string, invalid bool, values mark.Values, words mark.Words) {
	if j.client != nil {
		words = j.client.who(words)
	}
	j.verdict.mark(code, invalid, values, words)
}

// at adds the values of the step to values.
func (j *stepJudge) at(values mark.Values) mark.Values {
	all := mark.Values{"step": float64(j.step.Index + 1), "clients": float64(j.step.Clients)}
	maps.Copy(all, values)
	return all
}

// against returns the mark values for a share and a bound, with the name of the bound.
func (j *stepJudge) against(s share, bound string, is workload.Percent) mark.Values {
	values := j.at(s.values)
	values["share_percent"], values[bound] = s.percent(), float64(is)
	return values
}

// Names of bounds in marks.
const (
	boundMark     = "mark_percent"
	boundInvalid  = "invalid_percent"
	boundExpected = "expected_percent"
)

// above judges a share that must not exceed its bounds. It reports whether the share exceeds the
// first.
func (j *stepJudge) above(code string, s share, b workload.Bounds, mayInvalidate bool) bool {
	switch {
	case s.exceeds(b.Invalid) && mayInvalidate:
		j.invalid = true
		j.mark(code, true, j.against(s, boundInvalid, b.Invalid), nil)
	case s.exceeds(b.Mark):
		j.mark(code, false, j.against(s, boundMark, b.Mark), nil)
	default:
		return false
	}
	return true
}

// busyShare is the share of requests, in percent, that may find every client busy, or be sent late
// by a free client, without a mark.
const busyShare = 1

// withoutServer reports whether clients had no server for long enough to be marked.
func (j *stepJudge) withoutServer() bool {
	w := j.step.Waiting
	return w != nil && w.Of > 0 && w.share("waited_seconds").exceeds(j.bounds.Waiting.Mark)
}
