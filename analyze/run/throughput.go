package run

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/results"
)

// Throughput holds ok requests per second in the measured windows of a stage.
type Throughput struct {
	// Average covers the whole windows, or is the number in a classic summary.
	Average Measure
	// Most and Least are per whole second, counted from the start of a window. The remainder
	// belongs to its last second.
	Most, Least Measure
}

// ThroughputOf returns throughput from requests that ended ok inside the windows.
func ThroughputOf(served *results.Throughput) (t Throughput) {
	average, missing := served.Average()
	t.Average = reasoned(missing, average, served.OK)
	least, most, missing := served.Extremes()
	t.Least, t.Most = reasoned(missing, least, served.WholeSeconds), reasoned(missing, most, served.WholeSeconds)
	return t
}

// reasoned returns a value, or the reason why it is missing.
func reasoned(missing results.Reason, v float64, n int64) Measure {
	if missing == "" {
		return Measured(v, n)
	}
	m := Measure{Words: string(missing), Missing: string(missing)}
	switch missing {
	case results.NotRecorded:
		m.Missing = "the records have an older format, which does not show which requests ended in the measured window"
	case results.TooFewSeconds:
		m.Missing = fmt.Sprintf("the extremes need at least %d whole seconds in the measured window", results.MinSeconds)
	case results.NoWindow:
		m.Missing = "the load ended before its measured window began"
	}
	return m
}

func unknownThroughput(why Measure) Throughput {
	return Throughput{Average: why, Most: why, Least: why}
}

// averageOf divides the ok requests by the seconds they took.
func averageOf(ok, elapsed Measure) Measure {
	switch {
	case !elapsed.Known():
		return elapsed
	case !ok.Known():
		return ok
	}
	return Measured(ok.Value/elapsed.Value, ok.Int())
}

// extremes returns the highest and the lowest throughput in a whole second from classic files.
// Without seconds, the reason is unrecorded.
func extremes(seconds []Second, w *Windows, unrecorded string) (most, least Measure) {
	var n int64
	var high, low float64
	for _, s := range perSecond(seconds) {
		if !w.Whole(s.Unix) {
			continue
		}
		if n++; n == 1 {
			high, low = s.OK, s.OK
		}
		high, low = max(high, s.OK), min(low, s.OK)
	}
	switch {
	case len(seconds) == 0:
		most = Missing("%s", unrecorded)
	case n == 0:
		most = Missing("no whole second lies inside the load")
	default:
		return Measured(high, n), Measured(low, n)
	}
	return most, most
}
