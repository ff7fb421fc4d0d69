package run

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/stats/abtest"
	"github.com/coreos/dbtester/pkg/stats/drift"
	"github.com/coreos/dbtester/pkg/workload"
)

// Ageing shows how numbers drift over the measured windows.
type Ageing struct {
	// Missing is the reason why no step was judged; "" if one was.
	Missing string
	// Steps are the steps that were judged.
	Steps []AgeingStep
	// Grows means that the load adds keys, so that memory and store grow on purpose.
	Grows bool
}

// AgeingStep is a step with values for its whole minutes, which count from From.
type AgeingStep struct {
	Index int
	// Label distinguishes the step from others; "" if it is the only one.
	Label string
	From  time.Time
	// Requests counts the requests that ended ok in each minute.
	Requests []int64
	// Measures are ordered as in [AgeingMeasures].
	Measures []AgeingMeasure
}

// AgeingMeasure is a series by minute with its drift. NaN means unknown.
type AgeingMeasure struct {
	Values []float64
	// Missing is the reason why the drift is unknown, or "".
	Missing string
	// Drift is in the measure's unit per minute.
	Drift drift.Drift
	// P is Drift.P, corrected for the number of measures and steps.
	P float64
}

// Found reports whether chance is excluded.
func (m *AgeingMeasure) Found() bool { return m.Missing == "" && m.P < drift.Level }

// PerHour returns a slope per hour in percent of the median.
func (m *AgeingMeasure) PerHour(slope float64) float64 { return 6000 * slope / m.Drift.Median }

// Change returns the drift over all minutes in percent of the median.
func (m *AgeingMeasure) Change() float64 {
	return m.PerHour(m.Drift.Slope) * float64(len(m.Values)) / 60
}

// The measures whose drift is known, by their places in [AgeingMeasures].
const (
	AgeingP50 = iota
	AgeingP99
	AgeingMemory
	AgeingStore
	AgeingStoreUsed
)

// AgeingMeasures names the measures.
var AgeingMeasures = [...]string{AgeingP50: "p50", AgeingP99: "p99", AgeingMemory: "memory", AgeingStore: "store", AgeingStoreUsed: "store in use"}

// ofStore maps measures to the metrics by which members report the size of their store.
var ofStore = map[int]metric.Name{AgeingStore: metric.DBBytes, AgeingStoreUsed: metric.DBUsedBytes}

// newAgeing returns the steps that are long enough, still without values.
func newAgeing(record *results.DatabaseRun) (a Ageing) {
	why := fmt.Sprintf("too short: fewer than %d minutes were measured", drift.Least)
	for _, s := range record.Steps {
		if s.Start.IsZero() || s.End.IsZero() {
			continue
		}
		from, to := record.Measured(s)
		minutes := int((to.Sub(from) + time.Second) / time.Minute)
		switch {
		case minutes < drift.Least:
			continue
		case minutes > mostMinutes:
			why = "too long"
			continue
		case s.RateEnd > 0 && s.RateEnd != s.Rate:
			why = "the rate changed during the step"
			continue
		}
		one := AgeingStep{Index: s.Index, From: from.UTC(), Requests: make([]int64, minutes), Measures: make([]AgeingMeasure, len(AgeingMeasures))}
		for i := range one.Measures {
			one.Measures[i].Values = slices.Repeat([]float64{math.NaN()}, minutes)
		}
		a.Steps = append(a.Steps, one)
	}
	if len(a.Steps) == 0 {
		a.Missing = "not judged, " + why
	}
	a.Grows = record.Load.Any(func(o workload.Op) bool { return o.Creates() })
	return a
}

// mostMinutes bounds a step's length: thirty days.
const mostMinutes = 30 * 24 * 60

// minute returns the minute that contains a time in unix nanoseconds, and false outside all
// minutes.
func (s *AgeingStep) minute(unix int64) (int, bool) {
	i := floorDiv(unix-s.From.UnixNano(), int64(time.Minute))
	return int(i), i >= 0 && i < int64(len(s.Requests))
}

// minuteOf returns the minute that contains the middle of a second, and false outside all minutes.
// The first second counts whole.
func (s *AgeingStep) minuteOf(second time.Time) (int, bool) {
	return s.minute(max(second.UnixNano()+5e8, s.From.UnixNano()))
}

// forgetLatencies drops the values that were computed from histograms.
func (a *Ageing) forgetLatencies() {
	for i := range a.Steps {
		s := &a.Steps[i]
		clear(s.Requests)
		for _, measure := range [...]int{AgeingP50, AgeingP99} {
			for n := range s.Measures[measure].Values {
				s.Measures[measure].Values[n] = math.NaN()
			}
		}
	}
}

// minuteReader merges histograms of seconds into minutes. Lines must ascend in time.
type minuteReader struct {
	of   *Ageing
	open map[int]*openMinute // by step
}

// openMinute is a minute whose seconds are not all read.
type openMinute struct {
	at  int
	sum histogram.Sum
}

// add adds the requests of a second. The second belongs to the minute that contains its middle.
func (r *minuteReader) add(step int, second time.Time, b histogram.Buckets) {
	at := slices.IndexFunc(r.of.Steps, func(s AgeingStep) bool { return s.Index == step })
	if at < 0 {
		return
	}
	s := &r.of.Steps[at]
	minute, ok := s.minuteOf(second)
	if !ok {
		return
	}
	if r.open == nil {
		r.open = map[int]*openMinute{}
	}
	o := r.open[at]
	if o == nil {
		o = &openMinute{at: minute}
		r.open[at] = o
	}
	if o.at != minute {
		s.closeMinute(o)
		o.at = minute
	}
	o.sum.Add(b)
}

// within reports whether no minute ends between two seconds in a series.
func (r *minuteReader) within(of results.Series, first, last time.Time) bool {
	if of.Phase != results.PhaseMeasure {
		return true
	}
	at := slices.IndexFunc(r.of.Steps, func(s AgeingStep) bool { return s.Index == of.Step })
	if at < 0 {
		return true
	}
	a, known := r.of.Steps[at].minuteOf(first)
	b, also := r.of.Steps[at].minuteOf(last)
	return known == also && a == b
}

// close stores the minutes that are still open.
func (r *minuteReader) close() {
	for at, o := range r.open {
		r.of.Steps[at].closeMinute(o)
	}
}

// closeMinute stores the quantiles of a minute, in milliseconds.
func (s *AgeingStep) closeMinute(o *openMinute) {
	b := o.sum.Take()
	s.Requests[o.at] = b.Total()
	s.Measures[AgeingP50].Values[o.at] = QuantileMillis(b, 0.5)
	s.Measures[AgeingP99].Values[o.at] = QuantileMillis(b, 0.99)
}

// minuteMeans returns the mean of a gauge per minute, NaN if unknown. There are n values with
// ascending times, which values passes in order. Zero means unknown: no process and no store is
// empty.
func (s *AgeingStep) minuteMeans(times []int64, values func(each func(v float64) bool)) []float64 {
	sums, counts, i := make([]float64, len(s.Requests)), make([]float64, len(s.Requests)), 0
	values(func(v float64) bool {
		if minute, ok := s.minute(times[i]); ok && v > 0 {
			sums[minute] += v
			counts[minute]++
		}
		i++
		return i < len(times)
	})
	for i := range sums {
		sums[i] /= counts[i] // NaN without a value
	}
	return sums
}

// ageingStore returns the store sizes at a member, by step and minute.
func (o *Own) ageingStore(steps []AgeingStep) map[int][][]float64 {
	sizes := map[int][][]float64{}
	for measure, name := range ofStore {
		for i := range steps {
			sizes[measure] = append(sizes[measure], steps[i].minuteMeans(o.Answers.Times, func(each func(v float64) bool) {
				o.Answers.Values(name, 0, o.Answers.Len(), each)
			}))
		}
	}
	return sizes
}

// setAgeing adds the store sizes and finds the drifts.
func (r *Run) setAgeing() {
	a, servers := &r.Ageing, r.Machines.Servers
	for i := range a.Steps {
		s := &a.Steps[i]
		if len(r.Info.Record.Steps) > 1 {
			s.Label = fmt.Sprintf("step %d", s.Index+1)
		}
		for m := range servers {
			server := &servers[m]
			memory := s.minuteMeans(server.Samples.Times, func(each func(v float64) bool) {
				server.each(Of(metric.RSSBytes), 0, server.Samples.Len(), each)
			})
			s.Measures[AgeingMemory].addMember(m, memory)
			for measure := range ofStore {
				var store []float64
				if sizes := server.Own.sizes[measure]; sizes != nil {
					store = sizes[i]
				}
				s.Measures[measure].addMember(m, store)
			}
		}
	}
	a.judge(r.seed(), r.Info.Unattended())
}

// addMember adds the sizes from one member; nil if it reported no sizes. A minute is unknown if it
// is for any member.
func (m *AgeingMeasure) addMember(member int, sizes []float64) {
	for i := range m.Values {
		switch {
		case sizes == nil:
			m.Values[i] = math.NaN()
		case member == 0:
			m.Values[i] = sizes[i]
		default:
			m.Values[i] += sizes[i]
		}
	}
}

// judge finds the drifts of all measures in all steps, which are tested together.
func (a *Ageing) judge(seed uint64, unattended bool) {
	var tested []*AgeingMeasure
	var centers []drift.Center
	for i := range a.Steps {
		for k := range a.Steps[i].Measures {
			m := &a.Steps[i].Measures[k]
			known := len(m.Values) - count(m.Values, math.IsNaN)
			switch {
			case known == 0 && k > AgeingP99 && unattended:
				m.Missing = NoAgents
			case known == 0:
				m.Missing = "not recorded, or not reported by the members"
			case known < drift.Least:
				m.Missing = fmt.Sprintf("not judged, too short: %d of %d minutes are known, fewer than %d", known, len(m.Values), drift.Least)
			default:
				center := drift.Mean
				if k <= AgeingP99 { // quantiles have no average
					center = drift.Median
				}
				tested, centers = append(tested, m), append(centers, center)
			}
		}
	}
	p := make([]float64, len(tested))
	for i, m := range tested {
		m.Drift, _ = drift.Find(m.Values, centers[i], len(tested), seed)
		p[i] = m.Drift.P
	}
	for i, corrected := range abtest.Holm(p) {
		tested[i].P = corrected
	}
}

// count counts the values with a property.
func count(values []float64, is func(float64) bool) (n int) {
	for _, v := range values {
		if is(v) {
			n++
		}
	}
	return n
}
