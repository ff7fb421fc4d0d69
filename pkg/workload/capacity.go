package workload

import (
	"math"
	"strconv"
	"time"
)

// Capacity asks for the rate at which a share of windows of a load keep a limit on
// latency, and describes the search for it.
type Capacity struct {
	// Latency is the limit, from when a request was due, that At of all offered requests
	// must keep: 99 is p99. Errors is the largest share of them that may fail.
	Latency time.Duration `json:"latency_ns"`
	At      Percent       `json:"at_percent"`
	Errors  Percent       `json:"errors_percent"`
	// Window is the length of what is measured at one rate, after Settle of the same
	// rate.
	Window time.Duration `json:"window_ns"`
	Settle time.Duration `json:"settle_ns"`
	// WarmUp is how long the first rate is sent before the first window; 0 is none.
	WarmUp time.Duration `json:"warm_up_ns,omitempty"`
	// Share is that of windows which pass at the rate that is searched for, Tolerance
	// the relative width of the interval at which the search ends, and Windows the most
	// windows.
	Share     Percent `json:"share_percent"`
	Tolerance Percent `json:"tolerance_percent"`
	Windows   int     `json:"windows"`
	// Hold is the length of the last window, at the highest rate that lasts so long; 0 is
	// none.
	Hold time.Duration `json:"hold_ns,omitempty"`
}

// SLO is the limit as text: "p99 <= 20 ms".
func (c Capacity) SLO() string {
	ms := strconv.FormatFloat(float64(c.Latency)/1e6, 'f', -1, 64)
	return c.Quantile() + " <= " + ms + " ms"
}

// Quantile is At as experiment files give it: "p99.9".
func (c Capacity) Quantile() string { return "p" + strconv.FormatFloat(float64(c.At), 'f', -1, 64) }

// Least is the least rate of the search, in requests per second: so many requests are due
// in a window that one of them may miss the limit. A quantile of fewer is their maximum.
func (c Capacity) Least() float64 {
	rate := 100 / (100 - float64(c.At)) / c.Window.Seconds()
	return max(1, math.Round(rate*1e6)/1e6)
}

// Longest is the longest time that the search sends requests, in which holds are
// counted once: the search of one database in one trial.
func (c Capacity) Longest() time.Duration {
	length := time.Duration(c.Windows) * (c.Settle + c.Window)
	if c.WarmUp > 0 {
		length += c.Settle + c.WarmUp
	}
	if c.Hold > 0 {
		length += c.Settle + c.Hold
	}
	return length
}

// LastWindow is the length of the window after the search, which the records of the
// run are of: the hold, or one more window.
func (c Capacity) LastWindow() time.Duration {
	if c.Hold > 0 {
		return c.Hold
	}
	return c.Window
}
