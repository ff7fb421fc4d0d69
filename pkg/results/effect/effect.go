// Package effect measures the effect of a kind of event on load latencies: it compares the seconds
// that such events touched with all others.
package effect

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Effect describes the effect of one event kind on latency during a load.
type Effect struct {
	// Kind names the events.
	Kind string `json:"kind"`
	// Times counts the events and Took is their total duration; Failed counts those that did not
	// succeed.
	Times   int           `json:"times"`
	Failed  int           `json:"failed,omitempty"`
	Took    time.Duration `json:"took_ns"`
	Longest time.Duration `json:"longest_ns"`
	// Seconds counts the measured seconds touched by the events. Requests ended ok in them, with
	// that 99th percentile. Rest covers the seconds without these events. 0 requests have no
	// percentile.
	Seconds      int           `json:"seconds"`
	Requests     int64         `json:"requests"`
	P99          time.Duration `json:"p99_ns"`
	RestRequests int64         `json:"rest_requests"`
	RestP99      time.Duration `json:"rest_p99_ns"`
}

// Latency is the p99 over the requests that ended ok in some seconds.
type Latency struct {
	Seconds  int           `json:"seconds"`
	Requests int64         `json:"requests"`
	P99      time.Duration `json:"p99_ns"`
}

// Latency returns the latency in the seconds touched by the events, nil without requests.
func (e Effect) Latency() *Latency {
	if e.Requests == 0 {
		return nil
	}
	return &Latency{Seconds: e.Seconds, Requests: e.Requests, P99: e.P99}
}

// Around returns the effect of each kind, from the events in a tag folder: their duration, the p99
// in the seconds that they touched, and the p99 in all other seconds. Latencies cover ok requests
// in the measured phase: response times for steps with a rate, else service times.
func Around(dir string, record *results.DatabaseRun, kinds ...string) ([]Effect, error) {
	events, err := results.ReadEvents(filepath.Join(dir, results.FileEvents), len(record.Members))
	if err != nil {
		return nil, err
	}
	var effects []Effect
	touched := map[int64][]int{} // by unix second, indexes into effects
	for _, e := range events {
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		i := slices.IndexFunc(effects, func(u Effect) bool { return u.Kind == e.Kind })
		if i < 0 {
			i, effects = len(effects), append(effects, Effect{Kind: e.Kind})
		}
		u := &effects[i]
		u.Times++
		u.Took += e.Took
		u.Longest = max(u.Longest, e.Took)
		if e.Text != "" {
			u.Failed++
		}
		for s := e.Time.Unix(); s <= e.Time.Add(e.Took).Unix(); s++ {
			if !slices.Contains(touched[s], i) {
				touched[s] = append(touched[s], i)
			}
		}
	}
	if len(effects) == 0 {
		return nil, nil
	}
	return effects, addLatencies(filepath.Join(dir, results.FileLatency), record, effects, touched)
}

// Of returns, as [Around] does for events, the effect of each time on a load: the p99 in the
// seconds that it touched, and the p99 in all untouched seconds.
func Of(dir string, record *results.DatabaseRun, times []results.Stretch) ([]Effect, error) {
	effects := make([]Effect, len(times))
	touched := map[int64][]int{}
	for i, t := range times {
		effects[i].Times, effects[i].Took, effects[i].Longest = 1, t.Length, t.Length
		for s := t.From.Unix(); s <= t.To().Unix(); s++ {
			touched[s] = append(touched[s], i)
		}
	}
	return effects, addLatencies(filepath.Join(dir, results.FileLatency), record, effects, touched)
}

// Seconds returns the 99th percentile in each measured second touched by some times, by unix
// second. Seconds without an ok request are left out.
func Seconds(dir string, record *results.DatabaseRun, times []results.Stretch) (map[int64]time.Duration, error) {
	touched := map[int64]*histogram.Sum{}
	for _, t := range times {
		for s := t.From.Unix(); s <= t.To().Unix(); s++ {
			touched[s] = &histogram.Sum{}
		}
	}
	for line, err := range histogram.ReadBuckets(filepath.Join(dir, results.FileLatency)) {
		if err != nil {
			return nil, err
		}
		if sum := touched[line.Start.Unix()]; sum != nil && measured(line.Tag, record) {
			sum.Add(line.Buckets)
		}
	}
	seconds := map[int64]time.Duration{}
	for s, sum := range touched {
		if b := sum.Take(); len(b) > 0 {
			h := histogram.New()
			b.AddTo(h)
			seconds[s] = time.Duration(histogram.Quantile(h, .99))
		}
	}
	return seconds, nil
}

// measured reports whether a latency log line has latencies for ok requests in the measured
// phase: response times for steps with a rate, else service times.
func measured(tag string, record *results.DatabaseRun) bool {
	s, err := results.ParseSeries(tag)
	return err == nil && s.Outcome == workload.OK && s.Phase == results.PhaseMeasure && s.Timing == record.Timing(s.Step)
}

// addLatencies adds the latencies in the seconds that each effect touched, and in the others.
func addLatencies(path string, record *results.DatabaseRun, effects []Effect, touched map[int64][]int) error {
	during := make([]*hdrhistogram.Histogram, len(effects))
	seconds := make([]map[int64]bool, len(effects))
	for i := range effects {
		during[i], seconds[i] = histogram.New(), map[int64]bool{}
	}
	rest := histogram.New()
	for line, err := range histogram.ReadBuckets(path) {
		if err != nil {
			return err
		}
		if !measured(line.Tag, record) {
			continue
		}
		second := line.Start.Unix()
		for _, i := range touched[second] {
			line.Buckets.AddTo(during[i])
			seconds[i][second] = true
		}
		if len(touched[second]) == 0 {
			line.Buckets.AddTo(rest)
		}
	}
	p99 := func(h *hdrhistogram.Histogram) time.Duration {
		if h.TotalCount() == 0 {
			return 0
		}
		return time.Duration(histogram.Quantile(h, .99))
	}
	restP99 := p99(rest)
	for i := range effects {
		u := &effects[i]
		u.Seconds, u.Requests, u.P99 = len(seconds[i]), during[i].TotalCount(), p99(during[i])
		u.RestRequests, u.RestP99 = rest.TotalCount(), restP99
	}
	return nil
}
