package run

import (
	"time"

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
	now, before := get(r.Sample), get(*r.before)
	if now < 0 || before < 0 || now < before {
		return unread
	}
	return Measured((now-before)/r.period, 1)
}

// Value is a gauge.
func (r *Reading) Value(get Gauge) Measure {
	if v := get(r.Sample); v >= 0 {
		return Measured(v, 1)
	}
	return unread
}

var unread = Missing("not recorded in this second")

// readings returns one reading per second that was sampled. A sample belongs to the
// second of the middle of its period, because its rates are those of the period. If a
// sample was missed, only the last second of the period counts; the others are gaps.
// Gauges are also those of the second itself.
func (m Machine) readings() map[int64]*Reading {
	out := make(map[int64]*Reading, len(m.Samples))
	for i := range m.Samples {
		s := &m.Samples[i]
		second := secondOf(s)
		r := &Reading{Sample: *s}
		earlier, again := out[second]
		if again && earlier.period > 0 {
			r.before = earlier.before
		} else if i > 0 {
			r.before = &m.Samples[i-1]
		}
		if r.before != nil && r.before.UnixNano > 0 {
			r.period = float64(s.UnixNano-r.before.UnixNano) / 1e9
		}
		if again {
			before := results.Sample{}
			if r.before != nil {
				before = *r.before
			}
			r.Join(&earlier.Sample, &before, time.Duration(r.period*1e9))
		}
		out[second] = r
		if i > 0 {
			fillShort(out, m.Samples[i-1].UnixNano, r)
		}
	}
	m.keepGauges(out)
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
func (m Machine) keepGauges(out map[int64]*Reading) {
	for i := range m.Samples {
		s := &m.Samples[len(m.Samples)-1-i]
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

// secondOf returns the unix second in the middle of a sample's period.
func secondOf(s *results.Sample) int64 {
	if s.Classic || s.PeriodNS <= 0 {
		return floorDiv(s.UnixNano, 1e9)
	}
	return floorDiv(s.UnixNano-min(s.PeriodNS, 1e9)/2, 1e9)
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
