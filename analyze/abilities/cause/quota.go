package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// allPeriods is the share of periods with a stop from which the leader counts as using up its quota
// all the time.
const allPeriods = 0.9

// quotaRule names the processor quota on the leader.
func quotaRule() Rule {
	return Rule{
		Name: "quota", Words: "the leader's processor quota", Lines: []string{nameThrottled}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string {
			text := fmt.Sprintf("it was stopped for %.0f %% of the time", 100*min(f.Throttled.Value, 1))
			if f.Periods.Known() {
				text = fmt.Sprintf("it was stopped in %.0f %% of the periods", 100*min(f.Periods.Value, 1))
			}
			if f.usedUp() > 0 {
				text += fmt.Sprintf(", and used %.0f %% of it", 100*min(f.Used.Value/f.Allowed.Value, 1))
			}
			return text
		},
		AtLeast: func(f *Facts) float64 { return 100 * f.usedUp() },
	}
}

// usedUp returns the share of the response time that the leader's quota certainly takes in a closed
// loop: its used share if it is nearly all, as for saturated processors. It is at most the share of
// periods in which the quota stopped the leader: in others it did not delay requests.
func (f *Facts) usedUp() float64 {
	if f.Service.Known() || !f.Periods.Known() || !f.Used.Known() || !f.Allowed.Known() || f.Allowed.Value <= 0 {
		return 0
	}
	used := f.Used.Value / f.Allowed.Value
	if used < saturation {
		return 0
	}
	return min(used, f.Periods.Value, 1)
}

// stopped returns the share of time in which the quota stopped the leader, which is at most the
// share of periods with a stop, and its lower bound. The kernel adds up the time over processors,
// so the lower bound counts one of them; or all, if the quota was used up in nearly every period.
func (f *Facts) stopped() (share, low float64) {
	share = min(f.Throttled.Value, 1)
	if f.Processors.Known() {
		low = share / max(f.Processors.Value, 1)
	}
	if f.Periods.Known() {
		share = min(share, f.Periods.Value)
		low = min(low, share)
		if f.Periods.Value >= allPeriods {
			low = share
		}
	}
	return share, low
}

func throttled(f *Facts, at above) run.Measure {
	if !f.Throttled.Known() {
		return f.Throttled
	}
	share, low := f.stopped()
	m := run.Measured(share*max(at.left, 0), f.Throttled.N)
	if low == share {
		return m
	}
	return atLeast(m, low*max(at.left, 0))
}

// noWaits: a thread that the quota stops does not wait for a processor.
func noWaits(*Facts, run.Measure) float64 { return 0 }
