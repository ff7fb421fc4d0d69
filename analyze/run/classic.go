package run

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/results/sidecar"
)

// unheld explains why a classic run lacks a number.
const unheld = "classic files cannot record it"

// FromClassic reads the classic files of one run, which hold sums per second and for the whole load
// but no single requests. Numbers that the classic tool is known to get wrong are recomputed or
// missing. The manifest that control leaves in the folder adds facts that the classic files have no
// place for.
func FromClassic(in ClassicFiles) *Run {
	stage := &Stage{Availability: noAvailability(Inapplicable(unheld)), Places: Places{Missing: Inapplicable(unheld)}}
	c := classicReader{in: in, stage: stage, run: &Run{
		Info: Info{Tag: in.Record.Tag, Record: in.Record}, Stages: []*Stage{stage}, PooledStages: true, Stalls: Stalls{Missing: unheld}, Ageing: Ageing{Missing: unheld},
	}}
	c.readSidecar()
	c.readLoad()
	c.readMachines()
	c.run.Windows.Changes = c.run.clientChanges()
	c.run.setSteadiness()
	return c.run
}

// readSidecar reads the manifest next to the summary, if there is one: the run record, its marks
// and its request outcomes. Without a manifest, the classic tool may have written the files.
func (c *classicReader) readSidecar() {
	info := &c.run.Info
	info.Limited = true
	c.stage.Clients = c.in.Record.Load.Clients
	if c.stage.Latency.Clock = FromSent; c.in.Record.Load.Rate > 0 {
		c.stage.Latency.Clock = FromSentAtRate
	}
	summary := c.path(results.FileClassicSummary)
	if summary == "" {
		return
	}
	m, err := sidecar.Read(summary)
	switch name := filepath.Base(sidecar.Path(summary)); {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sidecar.ErrOtherRun):
		return // the classic tool writes no manifest
	case errors.Is(err, sidecar.ErrOtherRun):
		c.gap("%s is not used: %v", name, sidecar.ErrOtherRun)
		return
	case err != nil:
		c.gap("%s cannot be read: %v", name, Cause(err))
		return
	}
	info.Limited, info.Manifest, info.Record = false, m, m.Databases[0]
	c.stage.Latency.Clock = clockOf(info.Record, 0)
	if info.Record.Tag != info.Tag {
		c.gap("its files were recorded as %s", info.Record.Tag)
		info.Record.Tag = info.Tag // output files carry this tag
	}
}

// readLoad reads the seconds, summary and percentiles that the client recorded.
func (c *classicReader) readLoad() {
	l := &c.run.Load
	for i, record := range c.records(results.FileClassicTimeseries) {
		if i > 0 {
			c.addSecond(record)
		}
	}
	c.setWindows()
	ok := Missing("%s", c.run.Gaps.why(results.FileClassicTimeseries, "no second was recorded"))
	if len(l.Seconds) > 0 {
		ok = Measured(0, 0)
		for _, s := range l.Seconds {
			ok.Value += s.OK
		}
		ok.Value = math.Trunc(ok.Value)
	}
	summary := c.readSummary()
	l.Counts = c.counts(ok, summary.failures)
	c.setLatency(summary, ok)
	c.setThroughput(summary)
	l.MaxBacklog = Inapplicable(unheld)
}

// counts returns the totals in the manifest, or the sums from two files if there is no manifest.
func (c *classicReader) counts(ok, failures Measure) Counts {
	counts := uncounted(Missing("a classic run does not record it"))
	t := c.run.Info.Record.Totals
	switch {
	case t != nil:
		counts = countsOf(*t, &c.run.Info.Record.Load)
		if failures.Known() {
			counts.Failures = failures
		}
	case !ok.Known():
		counts.OK, counts.Sent, counts.Failures = ok, ok, failures
	case !failures.Known():
		counts.OK, counts.Sent, counts.Failures = ok, failures, failures
	default:
		counts.OK, counts.Sent, counts.Failures = ok, Measured(ok.Value+failures.Value, 0), failures
	}
	counts.Reads = Inapplicable(unheld)
	return counts
}

// addSecond adds a time series row: UNIX-SECOND, CONTROL-CLIENT-NUM, MIN-, AVG- and MAX-LATENCY-MS,
// AVG-THROUGHPUT.
func (c *classicReader) addSecond(record []string) {
	v, err := floats(record)
	if err != nil || len(v) < 6 {
		c.gap("%s: row %q is unreadable", results.FileClassicTimeseries, strings.Join(record, ","))
		return
	}
	s := Second{Unix: int64(v[0]), Clients: int(v[1]), OK: v[5]}
	if v[5] > 0 {
		s.Latency = Sums{Count: v[5], Sum: v[3] * v[5], Min: v[2], Max: v[4]}
	}
	c.run.Load.Seconds = append(c.run.Load.Seconds, s)
}

// setWindows takes the load and step windows from the manifest, as for a result folder, or derives
// them from the seconds. The first and the last second are partial, and a second shared by two
// steps is whole for neither. Without a manifest the load spans whole seconds, because the classic
// tool recorded its samples only in whole seconds.
func (c *classicReader) setWindows() {
	r := c.run
	unix := make([]int64, len(r.Load.Seconds))
	for i, s := range r.Load.Seconds {
		unix[i] = s.Unix
	}
	from, to := nearby(unix)
	before := len(r.Load.Seconds)
	r.Load.Seconds = slices.DeleteFunc(r.Load.Seconds, func(s Second) bool { return s.Unix < from || s.Unix >= to })
	if n := before - len(r.Load.Seconds); n > 0 {
		r.Gaps.Add("%s has %d rows of seconds far from the load; they are ignored", results.FileClassicTimeseries, n)
	}
	slices.SortStableFunc(r.Load.Seconds, func(a, b Second) int { return int(a.Unix - b.Unix) })
	if r.Info.Manifest != nil && !r.Info.Record.LoadStart.IsZero() {
		r.Windows = recordedWindows(r.Info.Record, Span{}, &r.Gaps)
		return
	}
	r.Windows = windowsOfSeconds(r.Load.Seconds)
}

// windowsOfSeconds makes one window for each stretch of whole seconds with the same client count.
func windowsOfSeconds(seconds []Second) (w Windows) {
	if len(seconds) == 0 {
		return w
	}
	first, last := seconds[0].Unix, seconds[len(seconds)-1].Unix
	w.Load = Span{first * 1e9, (last + 1) * 1e9}
	for i, s := range seconds {
		if s.Unix == first || s.Unix == last || seconds[i-1].Unix == s.Unix || seconds[i+1].Unix == s.Unix {
			continue
		}
		one := Span{s.Unix * 1e9, (s.Unix + 1) * 1e9}
		if n := len(w.Measured); n > 0 && w.Measured[n-1].To == one.From && w.Measured[n-1].Clients == s.Clients {
			w.Measured[n-1].To, w.Measured[n-1].Issued.To = one.To, one.To
			continue
		}
		w.Measured = append(w.Measured, Window{Span: one, Issued: one, Clients: s.Clients, Inside: notInside})
	}
	return w
}

// setLatency takes latencies from the summary and the percentile file. Without a time series, the
// request count is throughput times seconds, which is how the classic tool computed throughput.
func (c *classicReader) setLatency(s classicSummary, ok Measure) {
	if !ok.Known() && s.throughput.Value > 0 && s.elapsed.Value > 0 {
		ok = Counted(int64(math.Round(s.throughput.Value * s.elapsed.Value)))
	}
	of := func(m Measure) Measure {
		switch {
		case !m.Known():
			return m
		case ok.Known() && ok.Value == 0:
			return noAnswer
		}
		return Measured(m.Value, ok.Int())
	}
	d := &Distribution{N: ok, Mean: of(s.mean), SD: of(s.sd), Min: of(s.min), Max: of(s.max), Quantile: c.quantiles(ok)}
	l, none := &c.stage.Latency, unknownDistribution(Inapplicable(unheld))
	l.Due, l.OK, l.Service = c.marked(d), none, none
}

// marked marks latencies that pool steps or outcomes, because classic files do not separate them.
func (c *classicReader) marked(d *Distribution) *Distribution {
	var marks []string
	if c.run.Load.Counts.Failures.Value > 0 || c.run.Load.Counts.Lost().Value > 0 {
		marks = append(marks, ClassicOKMark)
	}
	if c.run.Load.Stepped() {
		marks = append(marks, PooledMark)
	}
	mark := func(m Measure) Measure {
		if m.Known() {
			m.Marks = slices.Concat(m.Marks, marks)
		}
		return m
	}
	quantile := d.Quantile
	return &Distribution{
		N: d.N, Mean: mark(d.Mean), SD: mark(d.SD), Min: mark(d.Min), Max: mark(d.Max),
		Quantile: func(q float64) Measure { return mark(quantile(q)) },
	}
}

// setThroughput takes the throughput from the summary. If it is missing there, it divides the ok
// requests by the seconds of the load.
func (c *classicReader) setThroughput(s classicSummary) {
	t, n := &c.stage.Throughput, c.stage.Latency.Due.N
	c.run.Load.Elapsed = s.elapsed
	t.Most, t.Least = extremes(c.run.Load.Seconds, &c.run.Windows, c.run.Gaps.why(results.FileClassicTimeseries, "no second was recorded"))
	t.Average = averageOf(n, s.elapsed)
	if s.throughput.Value > 0 {
		t.Average = Measured(s.throughput.Value, n.Int())
	}
	if c.run.Load.Stepped() && t.Average.Known() {
		t.Average.Marks = append(t.Average.Marks, PooledMark)
	}
}

// readMachines reads the interpolated samples and the disk summary.
func (c *classicReader) readMachines() {
	m := &c.run.Machines
	m.Client = c.machine(c.path(results.FileClientInterpolated), "client")
	for i, path := range c.in.Servers {
		m.Servers = append(m.Servers, c.machine(path, fmt.Sprintf("member %d", i+1)))
	}
	original := false
	for _, one := range append(slices.Clone(m.Servers), m.Client) {
		original = original || one.Samples.Classic()
	}
	if original {
		c.gap("the classic tool recorded numbers of threads instead of context switches, and did not identify machines: each server counts as one machine")
		if c.run.Info.Record.Load.Rate > 0 {
			c.gap("the classic tool timed requests from when a client sent them: in a load with a rate, its latencies leave out waiting for a free client")
		}
	}
	m.setDisks(&c.run.Info, c.diskSizes())
	m.Logs.Total = Inapplicable(unheld)
}

// machine reads the interpolated file for one machine.
func (c *classicReader) machine(path, name string) Machine {
	m := Machine{Name: name, Missing: name + ": no samples"}
	if path == "" {
		c.gap("%s: its samples are not named in the experiment file", name)
		return m
	}
	samples, err := results.ReadSamples(path)
	if err != nil {
		c.gap("%s: %s", name, problem(path, err))
	}
	for i := range samples {
		s := &samples[i]
		if s.Interpolated {
			if !s.Classic {
				continue // interpolated between two samples that are read too
			}
			s.UnixNano += 5e8 // only the second is known, so assume its middle
		}
		m.Samples.Append(s)
	}
	if backwards(samples) {
		c.gap("%s: the times of its samples go backwards: the file holds several runs", name)
	}
	m.Samples.Shift(clocks.Track{}.Client)
	if m.Samples.Len() > 0 {
		m.Missing = ""
	} else if errors.Is(err, fs.ErrNotExist) {
		m.Missing = name + ": its samples are missing"
	}
	return m
}

// backwards detects a file to which a second run was appended.
func backwards(samples []results.Sample) bool {
	for i := 1; i < len(samples); i++ {
		if samples[i].Second() < samples[i-1].Second() {
			return true
		}
	}
	return false
}
