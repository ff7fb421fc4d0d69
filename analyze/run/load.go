package run

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Load holds the requests of a load, by second and by outcome.
type Load struct {
	// Elapsed is the length of the measured windows of all steps in seconds.
	Elapsed Measure
	Counts  Counts
	// Errors are sorted by count, the largest first.
	Errors []ErrorCount
	// Seconds ascend; there is one per second and number of clients.
	Seconds []Second
	// Gauges are the state of the load at the end of each second.
	Gauges []results.Gauge
	// MaxBacklog is the most requests that were due and not sent at the end of a second.
	MaxBacklog Measure
}

// ClientNumbers returns the numbers of clients in their order.
func (l *Load) ClientNumbers() []int { return clientNumbers(l.Seconds) }

// Stepped reports whether the load had several numbers of clients.
func (l *Load) Stepped() bool { return len(l.ClientNumbers()) > 1 }

// PerSecond merges the parts of a second that two steps share.
func (l *Load) PerSecond() []Second { return perSecond(l.Seconds) }

// maxBacklog returns the largest backlog of a load. Without gauges, unrecorded is the
// reason.
func maxBacklog(gauges []results.Gauge, unrecorded string) Measure {
	if len(gauges) == 0 {
		return Missing("%s", unrecorded)
	}
	most := slices.MaxFunc(gauges, func(a, b results.Gauge) int { return cmp.Compare(a.Backlog, b.Backlog) })
	return Measured(float64(most.Backlog), int64(len(gauges)))
}

// Second is one second of a load with one number of clients, all phases.
type Second struct {
	Unix    int64
	Clients int
	OK      float64 // requests answered ok
	Latency Sums    // of those
	// Due are the requests that became due; Failed and Unknown those that ended so.
	// Classic files have none of them.
	Due, Failed, Unknown float64
}

// Sums are latencies in ms that merge without error.
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

// clientNumbers returns the numbers of clients in their order.
func clientNumbers(seconds []Second) []int {
	var out []int
	for _, s := range seconds {
		if !slices.Contains(out, s.Clients) {
			out = append(out, s.Clients)
		}
	}
	return out
}

// perSecond merges the parts of a second that two steps share.
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

// secondsOf merges the rows of intervals.csv into one per second and number of
// clients.
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
