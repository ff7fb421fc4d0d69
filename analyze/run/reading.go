package run

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/coreos/dbtester/analyze/run/packed"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Reading is the sample from a machine for one second.
type Reading struct {
	results.Sample
	// before is the last sample in an earlier second, or nil; period is the number of seconds in
	// between.
	before *results.Sample
	period float64
}

// Rate is the growth of a counter per second since the previous reading.
func (r *Reading) Rate(get Counter) Measure {
	if r.period <= 0 || r.before == nil {
		return unread
	}
	now, before := get.in(&r.Sample), get.in(r.before)
	if now < 0 || before < 0 || now < before {
		return unread
	}
	return Measured((now-before)/r.period, 1)
}

// Value returns the value of a gauge.
func (r *Reading) Value(get Gauge) Measure {
	if v := get.in(&r.Sample); v >= 0 {
		return Measured(v, 1)
	}
	return unread
}

var unread = Missing("not recorded in this second")

// readings yields the readings from a machine in time order. They are made in batches, because
// those for a whole day take much memory.
type readings struct {
	samples *packed.Cursor
	// window holds the unpacked samples needed for readings after done; more means that further
	// samples may follow.
	window []results.Sample
	more   bool
	done   int64
	ready  []timedReading // made but not yet taken, up to done
}

type timedReading struct {
	second int64
	*Reading
}

// readingsAtOnce is the batch size in samples.
const readingsAtOnce = 1024

func (m *Machine) readings() *readings {
	return &readings{samples: m.Samples.Cursor(), more: true, done: math.MinInt64}
}

// each yields the readings not yet taken, with their seconds.
func (rs *readings) each(yield func(second int64, r *Reading) bool) {
	for rs.fill() {
		one := rs.ready[0]
		rs.ready = rs.ready[1:]
		if !yield(one.second, one.Reading) {
			return
		}
	}
}

// of discards readings up to a second and returns the reading for that second, or nil. Callers must
// pass ascending seconds.
func (rs *readings) of(second int64) *Reading {
	for rs.fill() && rs.ready[0].second <= second {
		one := rs.ready[0]
		rs.ready = rs.ready[1:]
		if one.second == second {
			return one.Reading
		}
	}
	return nil
}

// fill makes another batch once all readings are taken. It reports whether any are available.
//
// A reading depends on the samples in its own second and the next one, and on the sample before
// those.
func (rs *readings) fill() bool {
	for len(rs.ready) == 0 && rs.more {
		have := len(rs.window)
		rs.window = rs.samples.Next(rs.window, readingsAtOnce)
		rs.more = len(rs.window)-have == readingsAtOnce
		last := int64(math.MaxInt64)
		if rs.more {
			last = floorDiv(rs.window[len(rs.window)-1].UnixNano, 1e9) - 2
		}
		for second, r := range readingsOf(rs.window) {
			if second > rs.done && second <= last {
				rs.ready = append(rs.ready, timedReading{second, r})
			}
		}
		slices.SortFunc(rs.ready, func(a, b timedReading) int { return cmp.Compare(a.second, b.second) })
		rs.done = max(rs.done, last)
		from := sort.Search(len(rs.window), func(i int) bool { return floorDiv(rs.window[i].UnixNano, 1e9) > last })
		// Readings point into the old window, so it must not be overwritten.
		rs.window = slices.Clone(rs.window[max(from-1, 0):])
	}
	return len(rs.ready) > 0
}

// readingsOf returns one reading per sampled second. A sample belongs to the second at the middle
// of its period, because its rates describe the period. After a missed sample, only the period's
// last second gets a reading; the other seconds are gaps. Gauges also count for the second in which
// they were sampled.
func readingsOf(samples []results.Sample) map[int64]*Reading {
	out := make(map[int64]*Reading, len(samples))
	for i := range samples {
		s := &samples[i]
		second := secondOf(s.UnixNano, s.PeriodNS, s.Classic)
		r := &Reading{Sample: *s}
		earlier, again := out[second]
		if again && earlier.period > 0 {
			r.before = earlier.before
		} else if i > 0 {
			r.before = &samples[i-1]
		}
		if r.before != nil && r.before.UnixNano > 0 {
			r.period = float64(s.UnixNano-r.before.UnixNano) / 1e9
		}
		if again {
			before := results.Sample{}
			if r.before != nil {
				before = *r.before
			}
			r.Values = r.Values.Clone() // leave the values in the sample unchanged
			r.Join(&earlier.Sample, &before, time.Duration(r.period*1e9))
		}
		out[second] = r
		if i > 0 {
			fillShort(out, samples[i-1].UnixNano, r)
		}
	}
	keepGauges(samples, out)
	return out
}

// fillShort also uses a reading for the second before its own if that second has no reading, the
// reading's period covers the middle of both seconds, and no sample was missed. This happens with
// the last row in an interpolated file, which joins the last two samples.
func fillShort(out map[int64]*Reading, begin int64, r *Reading) {
	second := floorDiv(begin, 1e9)
	if _, known := out[second]; known || begin > second*1e9+5e8 || floorDiv(r.UnixNano, 1e9) != second+1 {
		return
	}
	also := *r
	out[second] = &also
}

// keepGauges fills in the gauges that the reading for a second lacks, from the last sample in that
// second that has them: a gauge describes a moment, not a period. A run's last sample may find the
// processes ended although the sample before it, in the same second, did not. A second without a
// reading gets one with gauges only.
func keepGauges(samples []results.Sample, out map[int64]*Reading) {
	for i := range samples {
		s := &samples[len(samples)-1-i]
		second := floorDiv(s.UnixNano, 1e9)
		if r, known := out[second]; known {
			r.KeepGauges(s)
			continue
		}
		r := &Reading{Sample: *s}
		r.Set(metric.CPUPercent, metric.Unknown)
		out[second] = r
	}
}

// secondOf returns the unix second in the middle of a sampling period.
func secondOf(unixNano, period int64, classic bool) int64 {
	if classic || period <= 0 {
		return floorDiv(unixNano, 1e9)
	}
	return floorDiv(unixNano-min(period, 1e9)/2, 1e9)
}

// Row holds the readings of all servers for one second; nil for a server without a reading.
type Row []*Reading

// Mean averages over all servers. It needs a reading from every server, because an average over
// some would be a different quantity.
func (row Row) Mean(get func(*Reading) Measure) Measure {
	return row.over(get, func(sum, v float64) float64 { return sum + v }, float64(len(row)))
}

// Largest returns the maximum over all servers. It is missing unless every server has a value.
func (row Row) Largest(get func(*Reading) Measure) Measure {
	return row.over(get, func(a, b float64) float64 { return max(a, b) }, 1)
}

func (row Row) over(get func(*Reading) Measure, join func(a, b float64) float64, by float64) Measure {
	all := 0.0
	for i, r := range row {
		if r == nil {
			return unread
		}
		m := get(r)
		if !m.Known() {
			return m
		}
		if i == 0 {
			all = m.Value
		} else {
			all = join(all, m.Value)
		}
	}
	if len(row) == 0 {
		return unread
	}
	return Measured(all/by, int64(len(row)))
}
