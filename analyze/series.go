package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// series is what a column recorded second by second, clients and servers joined:
// one row per second of the load, in the columns of the classic CSV. NaN is a
// gap: nothing was recorded, which is not zero.
type series struct {
	unix    []int64
	columns []seriesColumn
}

// seriesColumn is one quantity, one value per second.
type seriesColumn struct {
	name     string
	decimals int // -1: as many as the value has
	values   []float64
}

// column returns the values of one quantity, nil if there is no such column.
func (s *series) column(name string) []float64 {
	for _, c := range s.columns {
		if c.name == name {
			return c.values
		}
	}
	return nil
}

// metric is one quantity of the servers and its names in the classic CSV.
type metric struct {
	server, average string
	get             func(reading) float64
	whole           bool // printed without decimals per server
}

// metrics are the servers' quantities in the order of the classic per-server
// columns.
func metrics() []metric {
	value := func(get gauge) func(reading) float64 { return func(r reading) float64 { return r.value(get) } }
	rate := func(get counter) func(reading) float64 { return func(r reading) float64 { return r.rate(get) } }
	return []metric{
		{"VOLUNTARY-CTXT-SWITCHES", "AVG-VOLUNTARY-CTXT-SWITCHES", value(voluntary), true},
		{"NON-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES", value(nonvoluntary), true},
		{"CPU", "AVG-CPU", value(cpu), false},
		{"LOAD-AVERAGE-1-MINUTE", "AVG-SYSTEM-LOAD-1-MIN", value(load1), false},
		{"VMRSS-MB", "AVG-VMRSS-MB", func(r reading) float64 { return r.value(rss) * 1e-6 }, false},
		{"READS-COMPLETED", "AVG-READS-COMPLETED", value(reads), true},
		{"READS-COMPLETED-DELTA", "AVG-READS-COMPLETED-DELTA", rate(reads), false},
		{"SECTORS-READ", "AVG-SECTORS-READ", value(sectorsRead), true},
		{"SECTORS-READ-DELTA", "AVG-SECTORS-READ-DELTA", rate(sectorsRead), false},
		{"WRITES-COMPLETED", "AVG-WRITES-COMPLETED", value(writes), true},
		{"WRITES-COMPLETED-DELTA", "AVG-WRITES-COMPLETED-DELTA", rate(writes), false},
		{"SECTORS-WRITTEN", "AVG-SECTORS-WRITTEN", value(sectorsWritten), true},
		{"SECTORS-WRITTEN-DELTA", "AVG-SECTORS-WRITTEN-DELTA", rate(sectorsWritten), false},
		{"READ-BYTES-DELTA", "AVG-READ-BYTES-NUM-DELTA", rate(deviceRead), false},
		{"WRITE-BYTES-DELTA", "AVG-WRITE-BYTES-NUM-DELTA", rate(deviceWritten), false},
		{"RECEIVE-BYTES-NUM", "AVG-RECEIVE-BYTES-NUM", value(received), true},
		{"RECEIVE-BYTES-NUM-DELTA", "AVG-RECEIVE-BYTES-NUM-DELTA", rate(received), false},
		{"TRANSMIT-BYTES-NUM", "AVG-TRANSMIT-BYTES-NUM", value(transmitted), true},
		{"TRANSMIT-BYTES-NUM-DELTA", "AVG-TRANSMIT-BYTES-NUM-DELTA", rate(transmitted), false},
		{"CLIENT-NUM", "AVG-CLIENT-NUM", value(clients), true},
	}
}

// averagesInOrder are the servers' means in the order of the classic CSV.
func averagesInOrder() []string {
	return []string{
		"AVG-CPU", "MAX-CPU", "AVG-SYSTEM-LOAD-1-MIN", "AVG-VMRSS-MB", "AVG-WRITES-COMPLETED", "AVG-WRITES-COMPLETED-DELTA",
		"AVG-SECTORS-WRITTEN", "AVG-SECTORS-WRITTEN-DELTA", "AVG-READS-COMPLETED", "AVG-READS-COMPLETED-DELTA",
		"AVG-SECTORS-READ", "AVG-SECTORS-READ-DELTA", "AVG-READ-BYTES-NUM-DELTA", "AVG-WRITE-BYTES-NUM-DELTA",
		"AVG-RECEIVE-BYTES-NUM", "AVG-RECEIVE-BYTES-NUM-DELTA", "AVG-TRANSMIT-BYTES-NUM", "AVG-TRANSMIT-BYTES-NUM-DELTA",
		"AVG-VOLUNTARY-CTXT-SWITCHES", "AVG-NON-VOLUNTARY-CTXT-SWITCHES",
	}
}

// serverReadings are the servers' readings by second.
func (c *column) serverReadings() []map[int64]reading {
	out := make([]map[int64]reading, len(c.servers))
	for i, m := range c.servers {
		out[i] = m.readings()
	}
	return out
}

// meanOf is the mean over all servers of one second. Without a reading of every
// server there is none: the mean of the others is another quantity.
func meanOf(servers []map[int64]reading, second int64, get func(reading) float64) float64 {
	return overServers(servers, second, get, func(v []float64) float64 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum / float64(len(v))
	})
}

// overServers applies f to the values of one second on every server, NaN unless
// all have one.
func overServers(servers []map[int64]reading, second int64, get func(reading) float64, f func([]float64) float64) float64 {
	values := make([]float64, 0, len(servers))
	for _, readings := range servers {
		r, known := readings[second]
		if !known {
			return math.NaN()
		}
		values = append(values, get(r))
	}
	if len(values) == 0 {
		return math.NaN()
	}
	return f(values) // NaN stays NaN through sums, min and max
}

// newSeries joins what the clients and the servers recorded.
func newSeries(c *column) *series {
	merged := c.perSecond()
	s := &series{}
	if len(merged) == 0 {
		return s
	}
	at := map[int64]second{}
	for _, m := range merged {
		at[m.unix] = m
	}
	for unix := merged[0].unix; unix <= merged[len(merged)-1].unix; unix++ {
		s.unix = append(s.unix, unix)
	}
	servers := c.serverReadings()
	s.add("UNIX-SECOND", 0, func(unix int64) float64 { return float64(unix) })
	s.add("SECOND", 0, func(unix int64) float64 { return float64(unix - s.unix[0]) })
	s.average(servers, "AVG-CLIENT-NUM")
	s.add("CONTROL-CLIENT-NUM", 0, ofClient(at, func(m second) float64 { return float64(m.clients) }))
	s.add("MIN-LATENCY-MS", 6, ofLatency(at, func(l sums) float64 { return l.min }))
	s.add("AVG-THROUGHPUT", 0, ofClient(at, func(m second) float64 { return m.ok }))
	s.add("AVG-LATENCY-MS", 6, ofLatency(at, func(l sums) float64 { return l.sum / l.count }))
	s.add("MAX-LATENCY-MS", 6, ofLatency(at, func(l sums) float64 { return l.max }))
	total := 0.0
	s.add("CUMULATIVE-THROUGHPUT", 0, func(unix int64) float64 { total += at[unix].ok; return total })
	for _, name := range averagesInOrder() {
		s.average(servers, name)
	}
	for i, readings := range servers {
		s.server(i+1, readings)
	}
	return s
}

func ofClient(at map[int64]second, get func(second) float64) func(int64) float64 {
	return func(unix int64) float64 {
		if m, known := at[unix]; known {
			return get(m)
		}
		return math.NaN()
	}
}

// ofLatency is a gap in a second in which nothing was answered.
func ofLatency(at map[int64]second, get func(sums) float64) func(int64) float64 {
	return func(unix int64) float64 {
		if m, known := at[unix]; known && m.latency.count > 0 {
			return get(m.latency)
		}
		return math.NaN()
	}
}

func (s *series) add(name string, decimals int, value func(unix int64) float64) {
	c := seriesColumn{name: name, decimals: decimals}
	for _, unix := range s.unix {
		c.values = append(c.values, value(unix))
	}
	s.columns = append(s.columns, c)
}

// average adds a mean over the servers, or the busiest one's CPU.
func (s *series) average(servers []map[int64]reading, name string) {
	if name == "MAX-CPU" {
		s.add(name, 2, func(unix int64) float64 {
			return overServers(servers, unix, func(r reading) float64 { return r.value(cpu) }, slices.Max[[]float64])
		})
		return
	}
	for _, m := range metrics() {
		if m.average == name {
			s.add(name, 2, func(unix int64) float64 { return meanOf(servers, unix, m.get) })
		}
	}
}

// server adds the columns of one server.
func (s *series) server(n int, readings map[int64]reading) {
	for _, m := range metrics() {
		decimals := 2
		if m.whole {
			decimals = 0
		}
		s.add(fmt.Sprintf("%s-%d", m.server, n), decimals, func(unix int64) float64 {
			if r, known := readings[unix]; known {
				return m.get(r)
			}
			return math.NaN()
		})
	}
}

// records is the series as a CSV file; a gap is an empty field.
func (s *series) records() [][]string {
	header := make([]string, len(s.columns))
	for i, c := range s.columns {
		header[i] = c.name
	}
	out := [][]string{header}
	for i := range s.unix {
		row := make([]string, len(s.columns))
		for j, c := range s.columns {
			row[j] = decimal(c.values[i], c.decimals)
		}
		out = append(out, row)
	}
	return out
}

// decimal prints a value, "" for a gap.
func decimal(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
