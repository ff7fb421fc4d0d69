package capacity

import (
	"errors"
	"fmt"
	"time"
)

// Options are fixed before the first window.
type Options struct {
	// Limit is the latency, from when a request was due, that the share At of all offered
	// requests must keep: 20 ms and 0.99.
	Limit time.Duration
	At    float64
	// Errors is the largest share of requests that may fail.
	Errors float64
	// Late is the share of requests sent late by the client above which a window that failed
	// is void, if it would have passed without them. A window that passes although requests
	// were late counts: latencies are from when requests were due.
	Late float64
	// Share is the share of windows that pass at the sought rate: from 0.5 to 0.95.
	Share float64
	// Tolerance is the relative width of the interval at which the search ends.
	Tolerance float64
	// Windows is the most windows that count, at least MinWindows.
	Windows int
	// Start is the first rate in requests per second; the search doubles it, or divides it by four.
	// Least and Highest bound all rates. Highest may be 0, which means no bound.
	Start, Least, Highest float64
	// Hold requests a longer window at the final rate, and at lower rates until one passes.
	Hold bool
}

// MinWindows is the fewest windows that a search needs.
const MinWindows = 12

// Defaults returns the options for a search for 99 % within 20 ms.
func Defaults() Options {
	return Options{
		Limit: 20 * time.Millisecond, At: .99, Errors: .001, Late: .01,
		Share: .8, Tolerance: .06, Windows: 40, Start: 250, Least: 1, Hold: true,
	}
}

// check returns every option out of bounds.
func (o Options) check() error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	must(o.Limit > 0, "the latency must be positive, got %s", o.Limit)
	must(o.At > 0 && o.At < 1, "the share of requests within the latency must lie between 0 and 1, got %g", o.At)
	must(o.Errors >= 0 && o.Errors < 1, "the share of errors must be at least 0 and less than 1, got %g", o.Errors)
	must(o.Late > 0 && o.Late < 1, "the share of late requests must lie between 0 and 1, got %g", o.Late)
	must(o.Share >= .5 && o.Share <= .95, "the share of windows must be from 50 %% to 95 %%, got %g %%", 100*o.Share)
	must(o.Tolerance > 0 && o.Tolerance < 1, "the tolerance must lie between 0 and 1, got %g", o.Tolerance)
	must(o.Windows >= MinWindows, "at least %d windows are needed, got %d", MinWindows, o.Windows)
	must(o.Least > 0, "the least rate must be positive, got %g", o.Least)
	must(o.Start >= o.Least, "the first rate must be at least the least rate, got %g and %g", o.Start, o.Least)
	must(o.Highest == 0 || o.Highest >= o.Start, "the highest rate must be at least the first one, got %g and %g", o.Highest, o.Start)
	return errors.Join(errs...)
}

// Window is a measurement at one rate, after settling. It counts requests.
type Window struct {
	Rate float64 // requested, per second
	// Offered requests were due in the window. Over among these were not answered within the limit:
	// they were answered later, failed, not answered, or not sent.
	Offered, Over int64
	// Failed requests were answered with an error, not answered, or not sent.
	Failed int64
	// Late requests were sent late or never, by the client's fault. Belated among these are in Over
	// only for that reason: counted from when they were sent, they were answered within the limit.
	Late, Belated int64
	// Pause is the longest time in which requests waited and the server answered nothing.
	Pause time.Duration
	// StoreFull is set if the database has no space left.
	StoreFull bool
}

// Outcome is the way in which a window counts.
type Outcome string

const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	// Stalled windows failed, and the server paused for longer than the limit in them.
	Stalled Outcome = "stalled"
	// Void windows do not count: they failed because the client was late, or nothing was
	// offered.
	Void Outcome = "void"
	// Full windows met a full store.
	Full Outcome = "store full"
)

// keeps reports whether a window keeps the limits if some requests that missed them are
// excused.
func (o Options) keeps(w Window, excused int64) bool {
	most := func(share float64) float64 { return share*float64(w.Offered) + 1e-9 }
	return float64(w.Over-excused) <= most(1-o.At) && float64(w.Failed-excused) <= most(o.Errors)
}

// Judge returns the outcome of a window.
func (o Options) Judge(w Window) Outcome {
	offered := float64(w.Offered)
	switch {
	case w.StoreFull:
		return Full
	case w.Offered == 0:
		return Void
	case o.keeps(w, 0):
		return Pass
	case float64(w.Late) > o.Late*offered && o.keeps(w, w.Belated):
		return Void
	case w.Pause > o.Limit:
		return Stalled
	}
	return Fail
}
