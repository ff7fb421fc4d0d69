package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// usedUp is the share of the quota's periods from which on the leader uses its quota up all the
// time.
const usedUp = 0.9

// quotaRule names the processor quota of the leader.
func quotaRule() Rule {
	return Rule{
		Name: "quota", Words: "the leader's processor quota", Lines: []string{nameThrottled}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string {
			text := fmt.Sprintf("it was stopped for %.0f %% of the time", 100*min(f.Throttled.Value, 1))
			if f.Periods.Known() {
				text = fmt.Sprintf("it was stopped in %.0f %% of the periods", 100*f.Periods.Value)
			}
			return text
		},
	}
}

// stopped is the share of the time in which the quota stopped the leader: no longer than the
// periods in which it was. The kernel adds up the time over processors, so at least the part of
// one of them counts; or all, if nearly every period ended with the quota used up.
func (f *Facts) stopped() (share, low float64) {
	share = min(f.Throttled.Value, 1)
	if f.Processors.Known() {
		low = share / max(f.Processors.Value, 1)
	}
	if f.Periods.Known() {
		share = min(share, f.Periods.Value)
		low = min(low, share)
		if f.Periods.Value >= usedUp {
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
