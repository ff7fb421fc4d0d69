package run

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Load holds requests by second and by outcome.
type Load struct {
	// Elapsed is the total of all measured windows, in seconds.
	Elapsed Measure
	Counts  Counts
	// Errors are sorted by count, largest first.
	Errors []ErrorCount
	// Seconds ascend, with one entry per second and client count.
	Seconds []Second
	// Gauges hold the state at the end of each second.
	Gauges []results.Gauge
	// MaxBacklog is the most requests due but unsent at the end of a second.
	MaxBacklog Measure
}

// ClientNumbers returns the client counts in order.
func (l *Load) ClientNumbers() []int { return clientNumbers(l.Seconds) }

// Stepped reports whether the client count varied.
func (l *Load) Stepped() bool { return len(l.ClientNumbers()) > 1 }

// PerSecond merges both parts of a second shared by two steps.
func (l *Load) PerSecond() []Second { return perSecond(l.Seconds) }

// maxBacklog returns the largest backlog. If there are no gauges, the reason is unrecorded.
func maxBacklog(gauges []results.Gauge, unrecorded string) Measure {
	if len(gauges) == 0 {
		return Missing("%s", unrecorded)
	}
	most := slices.MaxFunc(gauges, func(a, b results.Gauge) int { return cmp.Compare(a.Backlog, b.Backlog) })
	return Measured(float64(most.Backlog), int64(len(gauges)))
}

// Second sums up the requests of all phases in a unix second at one client count.
type Second struct {
	Unix    int64
	Clients int
	OK      float64 // ok requests
	Latency Sums    // of ok requests
	// Due counts requests that became due, Failed and Unknown those with that outcome. Classic
	// files have no such counts.
	Due, Failed, Unknown float64
}

// Sums are latencies in ms that can be merged exactly.
type Sums struct{ Count, Sum, Min, Max float64 }

func (s *Sums) add(o Sums) {
	if o.Count == 0 {
		return
	}
	if s.Count == 0 {
		*s = o
		return
	}
	s.Count += o.Count
	s.Sum += o.Sum
	s.Min = min(s.Min, o.Min)
	s.Max = max(s.Max, o.Max)
}

func sumsOf(l results.Latency) Sums {
	if l.Count == 0 {
		return Sums{}
	}
	return Sums{float64(l.Count), float64(l.SumNS) / 1e6, float64(l.MinNS) / 1e6, float64(l.MaxNS) / 1e6}
}

// clientNumbers returns the client counts in order.
func clientNumbers(seconds []Second) []int {
	var out []int
	for _, s := range seconds {
		if !slices.Contains(out, s.Clients) {
			out = append(out, s.Clients)
		}
	}
	return out
}

// perSecond merges both parts of a second shared by two steps.
func perSecond(seconds []Second) []Second {
	shared := func(i int) bool { return i > 0 && seconds[i].Unix == seconds[i-1].Unix }
	first := 0
	for first < len(seconds) && !shared(first) {
		first++
	}
	if first == len(seconds) {
		return seconds
	}
	var out []Second
	for _, s := range seconds {
		if n := len(out); n > 0 && out[n-1].Unix == s.Unix {
			last := &out[n-1]
			last.Clients = s.Clients
			last.OK += s.OK
			last.Due, last.Failed, last.Unknown = last.Due+s.Due, last.Failed+s.Failed, last.Unknown+s.Unknown
			last.Latency.add(s.Latency)
			continue
		}
		out = append(out, s)
	}
	return out
}

// secondsOf merges the rows in intervals.csv into one entry per second and client count.
func secondsOf(intervals []results.Interval, timing func(step int) results.Timing) (seconds []Second) {
	for rows := range results.BySecond(intervals) {
		first := len(seconds)
		for _, iv := range rows {
			n := first + slices.IndexFunc(seconds[first:], func(s Second) bool { return s.Clients == iv.Clients })
			if n < first {
				n = len(seconds)
				seconds = append(seconds, Second{Unix: iv.Second, Clients: iv.Clients})
			}
			seconds[n].OK += float64(iv.OK)
			seconds[n].Due += float64(iv.Due)
			seconds[n].Failed += float64(iv.Failed)
			seconds[n].Unknown += float64(iv.Unknown)
			seconds[n].Latency.add(sumsOf(*iv.Latency(timing(iv.Step), workload.OK)))
		}
	}
	return slices.Clip(seconds)
}
