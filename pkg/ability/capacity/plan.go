package capacity

import (
	"math"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// Plan asks for the rate at which a share of windows keeps a latency limit, and describes the
// search for it.
type Plan struct {
	// Latency is the limit, from when a request was due, that At of all offered requests
	// must keep: 99 is p99. Errors is the largest share of requests that may fail.
	Latency time.Duration    `json:"latency_ns"`
	At      workload.Percent `json:"at_percent"`
	Errors  workload.Percent `json:"errors_percent"`
	// Window is the time for which one rate is measured, after Settle at the same rate. At low
	// rates it is longer: see [Plan.WindowAt].
	Window time.Duration `json:"window_ns"`
	Settle time.Duration `json:"settle_ns"`
	// WarmUp is the time at the first rate before the first window; 0 means no warm-up.
	WarmUp time.Duration `json:"warm_up_ns,omitempty"`
	// Share is the share of windows that pass at the sought rate. The search ends once its interval
	// has the relative width Tolerance, or after Windows windows.
	Share     workload.Percent `json:"share_percent"`
	Tolerance workload.Percent `json:"tolerance_percent"`
	Windows   int              `json:"windows"`
	// Hold is the length of the last window, at the highest rate that lasts that long; 0 means no
	// hold.
	Hold time.Duration `json:"hold_ns,omitempty"`
}

// SLO returns the limit as text: "p99 <= 20 ms".
func (c Plan) SLO() string {
	ms := strconv.FormatFloat(float64(c.Latency)/1e6, 'f', -1, 64)
	return c.Quantile() + " <= " + ms + " ms"
}

// Sought returns the plan without the hold that follows a search: capacities are comparable even if
// holds differ.
func (c Plan) Sought() Plan {
	c.Hold = 0
	return c
}

// Quantile returns At as experiment files give it: "p99.9".
func (c Plan) Quantile() string { return "p" + strconv.FormatFloat(float64(c.At), 'f', -1, 64) }

// Least returns the lowest rate to search, in requests per second. At this rate enough requests are
// due in a window for one to miss the limit. With fewer requests, the quantile is their maximum.
func (c Plan) Least() float64 {
	rate := 100 / (100 - float64(c.At)) / c.Window.Seconds()
	return max(1, math.Round(rate*1e6)/1e6)
}

// Windows at low rates are longer: until this many requests may miss the limit, or up to
// this many times as long. With fewer, one slow request more or less decides.
const (
	fewestMisses = 5
	mostTimes    = 4
)

// WindowAt returns the length of a window at a rate, in requests per second: Window, or until five
// requests may miss the limit, at most four times Window.
func (c Plan) WindowAt(rate float64) time.Duration {
	longest := mostTimes * c.Window
	if rate <= 0 {
		return longest
	}
	seconds := fewestMisses * 100 / (100 - float64(c.At)) / rate
	if seconds >= longest.Seconds() {
		return longest
	}
	return max(c.Window, time.Duration(math.Ceil(seconds*1000-1e-6))*time.Millisecond)
}

// Enough returns the rate in requests per second from which on windows are as long as Window.
func (c Plan) Enough() float64 {
	return fewestMisses * 100 / (100 - float64(c.At)) / c.Window.Seconds()
}

// Longest bounds the time in which a search sends requests if its lowest rate, in requests per
// second, is the given one. It covers one database in one trial, with one hold.
func (c Plan) Longest(rate float64) time.Duration {
	length := time.Duration(c.Windows) * (c.Settle + c.WindowAt(rate))
	if c.WarmUp > 0 {
		length += c.Settle + c.WarmUp
	}
	if c.Hold > 0 {
		length += c.Settle + c.Hold
	}
	return length
}

// LastWindow returns the length of the window after the search, which run records cover: the hold,
// or one more window at its rate.
func (c Plan) LastWindow(rate float64) time.Duration {
	if c.Hold > 0 {
		return c.Hold
	}
	return c.WindowAt(rate)
}
