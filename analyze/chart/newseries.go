package chart

import (
	"fmt"
	"math"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// NewSeries joins the records of the clients and the servers by second.
func NewSeries(r *run.Run) *Series {
	merged := r.Load.PerSecond()
	s := &Series{}
	if len(merged) == 0 {
		return s
	}
	at := map[int64]run.Second{}
	for _, m := range merged {
		at[m.Unix] = m
	}
	for unix := merged[0].Unix; unix <= merged[len(merged)-1].Unix; unix++ {
		s.Unix = append(s.Unix, unix)
		s.inside = append(s.inside, inside(r, unix))
		s.early = append(s.early, before(r, unix))
	}
	servers := r.Machines.Rows(s.Unix[0], len(s.Unix))
	s.add("UNIX-SECOND", 0, func(unix int64) float64 { return float64(unix) })
	s.add("SECOND", 0, func(unix int64) float64 { return float64(unix - s.Unix[0]) })
	s.average(servers, clientNumber)
	s.add("CONTROL-CLIENT-NUM", 0, ofClient(at, func(m run.Second) float64 { return float64(m.Clients) }))
	s.add("MIN-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Min }))
	s.add("AVG-THROUGHPUT", 0, ofClient(at, func(m run.Second) float64 { return m.OK }))
	s.add("AVG-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Sum / l.Count }))
	s.add("MAX-LATENCY-MS", 6, ofLatency(at, func(l run.Sums) float64 { return l.Max }))
	total := 0.0
	s.add("CUMULATIVE-THROUGHPUT", 0, func(unix int64) float64 { total += at[unix].OK; return total })
	for _, name := range averagesInOrder() {
		s.average(servers, name)
	}
	for i := range r.Machines.Servers {
		s.server(i, servers)
	}
	return s
}

func ofClient(at map[int64]run.Second, get func(run.Second) float64) func(int64) float64 {
	return func(unix int64) float64 {
		if m, known := at[unix]; known {
			return get(m)
		}
		return math.NaN()
	}
}

// ofLatency is a gap in a second in which nothing was answered.
func ofLatency(at map[int64]run.Second, get func(run.Sums) float64) func(int64) float64 {
	return func(unix int64) float64 {
		if m, known := at[unix]; known && m.Latency.Count > 0 {
			return get(m.Latency)
		}
		return math.NaN()
	}
}

func (s *Series) add(name string, decimals int, value func(unix int64) float64) {
	c := seriesColumn{name: name, decimals: decimals, values: make([]float64, len(s.Unix))}
	for i, unix := range s.Unix {
		c.values[i] = value(unix)
	}
	s.columns = append(s.columns, c)
}

// addRows adds a column of what the servers did.
func (s *Series) addRows(name string, decimals int, servers []run.Row, value func(run.Row) float64) {
	s.add(name, decimals, func(unix int64) float64 { return value(servers[unix-s.Unix[0]]) })
}

// ofPeriod marks the last column as one of what a machine did in each second.
func (s *Series) ofPeriod(q quantity) {
	s.columns[len(s.columns)-1].period = q.Rate || q.Metric == metric.CPUPercent
}

// average adds a mean over the servers, or the value of the largest.
func (s *Series) average(servers []run.Row, name string) {
	for _, q := range quantities() {
		switch {
		case q.Column != name:
		case q.Largest:
			s.addRows(name, 2, servers, func(row run.Row) float64 { return row.Largest(q.get).Float() })
			s.ofPeriod(q)
		default:
			s.addRows(name, 2, servers, func(row run.Row) float64 { return row.Mean(q.get).Float() })
			s.ofPeriod(q)
		}
	}
}

// server adds the columns of the nth server, from 0.
func (s *Series) server(n int, servers []run.Row) {
	for _, q := range quantities() {
		if q.Server == "" {
			continue
		}
		s.addRows(fmt.Sprintf("%s-%d", q.Server, n+1), q.decimals, servers, func(row run.Row) float64 {
			if row[n] == nil {
				return math.NaN()
			}
			return q.get(row[n]).Float()
		})
		s.ofPeriod(q)
	}
}
