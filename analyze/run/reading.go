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

// Reading is the sample of one second of a machine.
type Reading struct {
	results.Sample
	// before is the last sample of an earlier second, nil if there is none; period the
	// seconds since.
	before *results.Sample
	period float64
}

// Rate is a counter's growth per second since the reading before.
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

// Value is a gauge.
func (r *Reading) Value(get Gauge) Measure {
	if v := get.in(&r.Sample); v >= 0 {
		return Measured(v, 1)
	}
	return unread
}

var unread = Missing("not recorded in this second")

// readings are the readings of a machine in the order of their seconds. They are made
// some at a time, because those of a day take much memory.
type readings struct {
	samples *packed.Cursor
	// window are the samples that the readings after done need, as far as they are
	// unpacked; more reports that there may be further ones.
	window []results.Sample
	more   bool
	done   int64
	ready  []timedReading // that were not taken, up to done
}

type timedReading struct {
	second int64
	*Reading
}

// readingsAtOnce is how many samples are unpacked at a time.
const readingsAtOnce = 1024

func (m *Machine) readings() *readings {
	return &readings{samples: m.Samples.Cursor(), more: true, done: math.MinInt64}
}

// each yields the readings that were not taken, with their seconds.
func (rs *readings) each(yield func(second int64, r *Reading) bool) {
	for rs.fill() {
		one := rs.ready[0]
		rs.ready = rs.ready[1:]
		if !yield(one.second, one.Reading) {
			return
		}
	}
}

// of takes the readings up to a second and returns that of the second, nil if there is
// none. Seconds must rise.
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

// fill makes further readings if all were taken, and reports whether there are any.
//
// A reading depends on the samples that were taken in its second or in the one after it,
// and on the one before these.
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
		// Readings point into the old window.
		rs.window = slices.Clone(rs.window[max(from-1, 0):])
	}
	return len(rs.ready) > 0
}

// readingsOf returns one reading per second that was sampled. A sample belongs to the
// second of the middle of its period, because its rates are those of the period. If a
// sample was missed, only the last second of the period counts; the others are gaps.
// Gauges are also those of the second itself.
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
			r.Values = r.Values.Clone() // the sample keeps its own
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

// fillShort makes a reading count for the second before its own too, if that second has
// none, the period of the reading holds the middle of both, and no sample was missed in
// it. The last row of an interpolated file is such a reading: it joins the last two
// samples of a run.
func fillShort(out map[int64]*Reading, begin int64, r *Reading) {
	second := floorDiv(begin, 1e9)
	if _, known := out[second]; known || begin > second*1e9+5e8 || floorDiv(r.UnixNano, 1e9) != second+1 {
		return
	}
	also := *r
	out[second] = &also
}

// keepGauges completes each second with the gauges that its reading lacks, from the last
// sample of that second that has them: a gauge is of a moment, not of a period. The last
// sample of a run may find the processes ended, though the sample before it, in the same
// second, did not. A second without a reading gets one of gauges alone.
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

// secondOf returns the unix second in the middle of the period of a sample.
func secondOf(unixNano, period int64, classic bool) int64 {
	if classic || period <= 0 {
		return floorDiv(unixNano, 1e9)
	}
	return floorDiv(unixNano-min(period, 1e9)/2, 1e9)
}

// Row is the readings of all servers in one second, nil for a server without one.
type Row []*Reading

// Mean is the mean over all servers of one second. It needs a reading of every
// server: the mean of the others is another quantity.
func (row Row) Mean(get func(*Reading) Measure) Measure {
	return row.over(get, func(sum, v float64) float64 { return sum + v }, float64(len(row)))
}

// Largest is the largest value of one second, if every server has one.
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
