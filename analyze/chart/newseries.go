package chart

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// NewSeries joins client and server records by second. Server values are read lazily, so the run
// must still have its samples then.
func NewSeries(r *run.Run) *Series {
	merged := r.Load.PerSecond()
	s := &Series{run: r}
	if len(merged) == 0 {
		return s
	}
	first, n := merged[0].Unix, int(merged[len(merged)-1].Unix-merged[0].Unix)+1
	s.Unix, s.inside, s.early = make([]int64, n), make([]bool, n), make([]bool, n)
	at := make([]*run.Second, n)
	for i := range s.Unix {
		unix := first + int64(i)
		s.Unix[i], s.inside[i], s.early[i] = unix, inside(r, unix), before(r, unix)
	}
	for i := range merged {
		at[merged[i].Unix-first] = &merged[i]
	}
	s.add("UNIX-SECOND", 0, func(i int) float64 { return float64(s.Unix[i]) })
	s.add("SECOND", 0, func(i int) float64 { return float64(i) })
	all := quantities()
	s.average(all, clientNumber)
	s.add("CONTROL-CLIENT-NUM", 0, ofClient(at, func(m *run.Second) float64 { return float64(m.Clients) }))
	s.add("MIN-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Min }))
	s.add("AVG-THROUGHPUT", 0, ofClient(at, func(m *run.Second) float64 { return m.OK }))
	s.add("AVG-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Sum / l.Count }))
	s.add("MAX-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Max }))
	total := 0.0
	s.add("CUMULATIVE-THROUGHPUT", 0, func(i int) float64 {
		if at[i] != nil {
			total += at[i].OK
		}
		return total
	})
	for _, name := range averagesInOrder() {
		s.average(all, name)
	}
	for i := range r.Machines.Servers {
		s.server(all, i)
	}
	for _, q := range all {
		if q.Column != "" && q.Column != clientNumber {
			s.addAlive(q.Column, q)
		}
	}
	return s
}

func ofClient(at []*run.Second, get func(*run.Second) float64) func(int) float64 {
	return func(i int) float64 {
		if at[i] != nil {
			return get(at[i])
		}
		return math.NaN()
	}
}

// ofLatency returns a gap for a second without an answer.
func ofLatency(at []*run.Second, get func(run.Sums) float64) func(int) float64 {
	return func(i int) float64 {
		if at[i] != nil && at[i].Latency.Count > 0 {
			return get(at[i].Latency)
		}
		return math.NaN()
	}
}

// add adds a client column. It calls value once per second, in order.
func (s *Series) add(name string, decimals int, value func(i int) float64) {
	values := make([]float64, len(s.Unix))
	for i := range values {
		values[i] = value(i)
	}
	s.columns = append(s.columns, seriesColumn{name: name, decimals: decimals, values: values})
}

// addRows adds a column computed from the server readings.
func (s *Series) addRows(name string, decimals int, q quantity, value func(run.Row) float64) {
	period := q.Rate || q.Metric == metric.CPUPercent
	s.columns = append(s.columns, seriesColumn{name: name, decimals: decimals, of: value, period: period})
}

// average adds a mean over the servers, or the value of the largest server.
func (s *Series) average(all []quantity, name string) {
	for _, q := range all {
		switch {
		case q.Column != name:
		case q.Largest:
			s.addRows(name, 2, q, func(row run.Row) float64 { return row.Largest(q.get).Float() })
		default:
			s.addRows(name, 2, q, func(row run.Row) float64 { return row.Mean(q.get).Float() })
		}
	}
}

// server adds the columns for the nth server, from 0.
func (s *Series) server(all []quantity, n int) {
	for _, q := range all {
		if q.Server == "" {
			continue
		}
		s.addRows(fmt.Sprintf("%s-%d", q.Server, n+1), q.decimals, q, func(row run.Row) float64 {
			if row[n] == nil {
				return math.NaN()
			}
			return q.get(row[n]).Float()
		})
	}
}
