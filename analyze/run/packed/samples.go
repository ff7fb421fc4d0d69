package packed

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Samples packs samples from one machine in time order. It keeps only texts that identify a
// counter's source, such as a device. The zero Samples is empty.
type Samples struct {
	// Times are unix nanoseconds. Periods are as in [results.Sample].
	Times, Periods []int64

	columns []Column // one per system metric
	sources []sources
	classic bool
	cut     bool // all samples except the last were dropped
}

// sources are the texts that apply from one sample on.
type sources struct {
	from                                      int
	device, network, bootID, namespace, group string
}

// Of packs samples.
func Of(samples ...results.Sample) (s Samples) {
	for i := range samples {
		s.Append(&samples[i])
	}
	return s
}

// Read reads a system-metrics CSV file row by row. On an error, it also returns the samples read so
// far. Errors are as for [results.ReadSamples].
func Read(path string) (s Samples, err error) {
	err = results.EachSample(path, s.Append)
	s.Times, s.Periods = slices.Clone(s.Times), slices.Clone(s.Periods)
	for i := range s.columns {
		s.columns[i].Clip()
	}
	return s, err
}

// Append appends a copy of a sample. All samples must come from the same kind of file.
func (s *Samples) Append(one *results.Sample) {
	if s.columns == nil {
		s.columns, s.classic = make([]Column, metric.System().Len()), one.Classic
	}
	of := sources{len(s.Times), one.Device, one.Interface, one.BootID, one.NetNS, one.Group}
	if n := len(s.sources); n == 0 || !s.sources[n-1].same(&of) {
		s.sources = append(s.sources, of)
	}
	s.Times, s.Periods = append(s.Times, one.UnixNano), append(s.Periods, one.PeriodNS)
	for i := range s.columns {
		s.columns[i].Append(one.Values.At(i))
	}
}

func (s *sources) same(o *sources) bool {
	return s.device == o.device && s.network == o.network && s.bootID == o.bootID && s.namespace == o.namespace && s.group == o.group
}

func (s *Samples) Len() int { return len(s.Times) }

// Classic reports whether the samples come from a classic file: see [results.Sample].
func (s *Samples) Classic() bool { return s.classic }

// Column returns the values for the metric at an index in [metric.System], one per sample.
func (s *Samples) Column(at int) *Column { return &s.columns[at] }

// Last returns the times and texts of the last sample; false if there are no samples.
func (s *Samples) Last() (one results.Sample, ok bool) {
	if s.Len() == 0 {
		return one, false
	}
	s.fill(&one, s.Len()-1, &s.sources[len(s.sources)-1])
	return one, true
}

func (s *Samples) fill(one *results.Sample, i int, of *sources) {
	one.UnixNano, one.PeriodNS, one.Classic = s.Times[i], s.Periods[i], s.classic
	one.Device, one.Interface, one.BootID, one.NetNS, one.Group = of.device, of.network, of.bootID, of.namespace, of.group
}

// Cut reports whether samples were dropped.
func (s *Samples) Cut() bool { return s.cut }

// Forget drops everything except the times and texts of the last sample.
func (s *Samples) Forget() {
	if n := s.Len(); n > 0 {
		of := s.sources[len(s.sources)-1]
		of.from = 0
		*s = Samples{Times: []int64{s.Times[n-1]}, Periods: []int64{s.Periods[n-1]}, columns: make([]Column, len(s.columns)), sources: []sources{of}, classic: s.classic, cut: true}
		for i := range s.columns {
			s.columns[i].Append(metric.Unknown)
		}
	}
}

// Shift converts every time with clock and sorts the samples again. The sort is stable.
func (s *Samples) Shift(clock func(unixNano int64) int64) {
	for i, t := range s.Times {
		s.Times[i] = clock(t)
	}
	if slices.IsSorted(s.Times) {
		return
	}
	all := s.All()
	slices.SortStableFunc(all, func(a, b results.Sample) int { return cmp.Compare(a.UnixNano, b.UnixNano) })
	*s = Of(all...)
}

// EachSecond applies [results.EachSecond].
func (s *Samples) EachSecond() Samples {
	n := s.Len()
	if n == 0 || !results.Dense(n, s.Times[0], s.Times[n-1]) {
		return *s
	}
	return Of(results.EachSecond(s.All())...)
}

// All unpacks every sample.
func (s *Samples) All() []results.Sample {
	c := s.Cursor()
	return c.Next(nil, s.Len())
}

// Cursor unpacks samples, starting at the first one.
type Cursor struct {
	of      *Samples
	readers []Reader
	next    int
	source  int
}

// Cursor returns a cursor before the first sample.
func (s *Samples) Cursor() *Cursor {
	c := &Cursor{of: s, readers: make([]Reader, len(s.columns))}
	for i := range s.columns {
		c.readers[i] = s.columns[i].Reader()
	}
	return c
}

// Next appends up to n more samples to to. They share no memory with the packed ones.
func (c *Cursor) Next(to []results.Sample, n int) []results.Sample {
	n = min(n, c.of.Len()-c.next)
	values := metric.System().Table(max(n, 0))
	for i := range values {
		for c.source+1 < len(c.of.sources) && c.of.sources[c.source+1].from <= c.next {
			c.source++
		}
		for at := range c.readers {
			values[i].SetAt(at, c.readers[at].Next())
		}
		one := results.Sample{Values: values[i]}
		c.of.fill(&one, c.next, &c.of.sources[c.source])
		to = append(to, one)
		c.next++
	}
	return to
}
