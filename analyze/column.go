package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/pkg/results"
)

// column is all that was recorded of one database in one run: one column of the
// table. A classic run and a result folder fill the same column; what was not
// recorded stays empty and is named in gaps.
type column struct {
	tag string // unique in a report
	key int    // from 1, for colours: the same for every run of a database
	// repeat counts the earlier columns of the same database and tag.
	repeat int
	// classic columns come from classic files.
	classic bool
	// manifest is nil for a classic column, unless control left it beside the files.
	manifest *results.Manifest
	run      *results.DatabaseRun // never nil; a classic column's holds what is known

	// window is the load from its first step's start to its last step's end,
	// measured the part of it that counts, in pieces, one per step.
	window   span
	measured []window
	// elapsed is the length of the measured population's windows in seconds, 0 if
	// not recorded.
	elapsed float64
	// reported is the throughput a classic summary states, 0 for a result folder.
	reported float64

	seconds          []second // ascending, one per second and number of clients
	latency, service *distribution
	offered          *distribution
	// histogram is of latency, nil if none was recorded; reads are the requests
	// answered ok that returned one value, all phases.
	histogram *hdrhistogram.Histogram
	reads     int64
	// steps and operations are the same population by step and by operation; a
	// classic column has none.
	steps      []results.StepSummary
	operations []results.OperationSummary
	// gauges are the state of the load by second, heat all its ok latencies.
	gauges []results.Gauge
	heat   heat
	counts counts
	errors []errorCount
	// failures are the requests that failed or are unknown, -1 if not recorded. Of a
	// classic run, which has no other counts, counts.OK is -1 in the same way.
	failures int64

	servers []machine
	client  machine
	disks   []int64 // classic: apparent bytes of each member's data directory
	logs    []logEvent
	leaders []int // members by index, in the order in which they led the load
	gaps    []string
	// problems are the gaps of record files, by the names that control gives them.
	problems map[string]string
}

// counts are a load's requests by their end. Those of a classic run that were
// never recorded are -1.
type counts results.Totals

// errorCount is one class of error of a whole load.
type errorCount struct {
	class, text string
	count       int64
}

// logEvent counts the log lines that a driver's rule matched.
type logEvent struct {
	event string
	count int64
}

// span is a stretch of time in unix nanoseconds of the client's clock.
type span struct{ from, to int64 }

func (s span) empty() bool      { return s.to <= s.from }
func (s span) seconds() float64 { return float64(s.to-s.from) / 1e9 }

// window is the measured part of one step.
type window struct {
	span
	// issued is the step, warm-up and cool-down included, until nothing new was sent.
	issued  span
	clients int
	inside  int64 // nanoseconds inside calls, clipped to issued; -1 unknown
}

// insideShare is the share of the clients' time that lay inside calls.
func (w window) insideShare() (share float64, known bool) {
	capacity := float64(w.clients) * w.issued.seconds() * 1e9
	if w.inside < 0 || capacity <= 0 {
		return 0, false
	}
	return float64(w.inside) / capacity, true
}

// second is what the clients saw in one second with one number of clients.
type second struct {
	unix    int64
	clients int
	ok      float64
	latency sums
}

// sums are latencies that can be merged without error, in milliseconds.
type sums struct{ count, sum, min, max float64 }

// add merges o into s.
func (s *sums) add(o sums) {
	if o.count == 0 {
		return
	}
	if s.count == 0 {
		*s = o
		return
	}
	s.count += o.count
	s.sum += o.sum
	s.min = min(s.min, o.min)
	s.max = max(s.max, o.max)
}

// sumsOf returns the mergeable part of a recorded latency.
func sumsOf(l results.Latency) sums {
	if l.Count == 0 {
		return sums{}
	}
	return sums{float64(l.Count), float64(l.SumNS) / 1e6, float64(l.MinNS) / 1e6, float64(l.MaxNS) / 1e6}
}

// foreign reports whether a classic tool may have made the column's files: they
// tell nothing of what it did not record.
func (c *column) foreign() bool { return c.classic && c.manifest == nil }

// rated reports whether requests were due at a rate, so that waiting counts.
func (c *column) rated() bool {
	if c.foreign() { // its latencies do not tell
		return false
	}
	if len(c.run.Steps) == 0 {
		return c.run.Load.Rate > 0
	}
	return slices.ContainsFunc(c.run.Steps, func(s results.Step) bool {
		return c.run.Timing(s.Index) == results.TimingResponse
	})
}

// gap records that something is missing or broken in the records.
func (c *column) gap(format string, args ...any) {
	c.gaps = append(c.gaps, fmt.Sprintf(format, args...))
}

// broken records what is wrong with a record file, as a gap and as the reason why
// numbers are missing.
func (c *column) broken(file, problem string) {
	c.gap("%s", problem)
	if c.problems == nil {
		c.problems = map[string]string{}
	}
	c.problems[file] = problem
}

// why is why a number of a file is missing: what is wrong with the file, else
// another reason.
func (c *column) why(file, otherwise string) string { return cmp.Or(c.problems[file], otherwise) }

// secondsFile is the record file of the load's seconds, summaryFile that of its
// sums.
func (c *column) secondsFile() string {
	if c.classic {
		return results.FileClassicTimeseries
	}
	return results.FileIntervals
}

func (c *column) summaryFile() string {
	if c.classic {
		return results.FileClassicSummary
	}
	return results.FileIntervals
}

// noAgents is why some things are not known of a cluster.
const noAgents = "the cluster ran already, without agents"

// unattended reports whether the load went to a cluster that no agent ran.
func (c *column) unattended() bool {
	return len(c.run.Members) > 0 && !slices.ContainsFunc(c.run.Members, func(m results.Member) bool {
		return m.Agent != "" || m.Host != nil || m.Release != nil
	})
}

// empty reports whether nothing of the column could be read though it should be
// there.
func (c *column) empty() bool {
	records := len(c.seconds) > 0 || c.elapsed > 0 || c.latency.known() || len(c.client.samples) > 0 || c.disks != nil
	for _, m := range c.servers {
		records = records || len(m.samples) > 0
	}
	return !records && c.run.State == results.StateComplete
}

// stepped reports whether the load had several numbers of clients.
func (c *column) stepped() bool { return len(c.clientNumbers()) > 1 }

// clientNumbers are the numbers of clients of the load in their order.
func (c *column) clientNumbers() []int {
	var out []int
	for _, s := range c.seconds {
		if !slices.Contains(out, s.clients) {
			out = append(out, s.clients)
		}
	}
	return out
}

// whole reports whether the second lies inside one step's measured window, so
// that its throughput is one number of clients at work all through it.
func (c *column) whole(unix int64) bool {
	from, to := unix*1e9, (unix+1)*1e9
	return slices.ContainsFunc(c.measured, func(w window) bool { return w.from <= from && to <= w.to })
}

// perSecond merges the seconds that two steps share.
func (c *column) perSecond() []second {
	var out []second
	for _, s := range c.seconds {
		if n := len(out); n > 0 && out[n-1].unix == s.unix {
			last := &out[n-1]
			last.clients = s.clients
			last.ok += s.ok
			last.latency.add(s.latency)
			continue
		}
		out = append(out, s)
	}
	return out
}

// loadStart is the unix second that is 0 on time axes.
func (c *column) loadStart() int64 {
	if c.window.from != 0 {
		return floorDiv(c.window.from, 1e9)
	}
	if len(c.seconds) > 0 {
		return c.seconds[0].unix
	}
	return 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// fileTag is a column's tag as a part of file names.
func fileTag(tag string) string { return strings.ReplaceAll(tag, " #", "-") }

// steppedRates reports whether the load's steps had several rates.
func (c *column) steppedRates() bool {
	return slices.ContainsFunc(c.run.Steps, func(s results.Step) bool { return rateOf(s) != rateOf(c.run.Steps[0]) })
}

// stepLabel says what is a step's own: its clients, its rate, or both.
func (c *column) stepLabel(s results.Step) string {
	var parts []string
	if c.stepped() || !c.steppedRates() {
		parts = append(parts, clientsText(s.Clients))
	}
	if c.steppedRates() {
		parts = append(parts, rateText(s.Rate, s.RateEnd))
	}
	return strings.Join(parts, ", ")
}

// rateOf is a step's rate, from and to.
func rateOf(s results.Step) [2]float64 { return [2]float64{s.Rate, s.RateEnd} }

// rateText is a rate of due requests, which changes to end if that is not 0.
func rateText(rate, end float64) string {
	if rate == 0 {
		return "closed loop"
	}
	text := rateNumber(rate)
	if end > 0 {
		text += ".." + rateNumber(end)
	}
	return text + "/s due"
}

// rateNumber is a number of requests in a second.
func rateNumber(rate float64) string { return strings.TrimSuffix(perSecondText(rate), " req/sec") }

// mixed reports whether the load had several operations.
func (c *column) mixed() bool { return len(c.operations) > 1 || len(c.run.Load.Mix) > 1 }
