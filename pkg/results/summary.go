package results

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ClassUnrecorded is the class of errors that intervals count and errors.csv
// does not hold.
const ClassUnrecorded = "unrecorded"

// Summary is the measured population of a load or of one step of it, all
// operations together: the one place where its numbers are made.
type Summary struct {
	// Window is how long the population was served, without pauses between steps:
	// the sum of [DatabaseRun.Measured]. Counts over it are rates.
	Window time.Duration

	Due, Sent, OK, Failed, Unknown, Shed, Unsent, Queued, Late int64

	// Latency is of the ok requests, by each step's [DatabaseRun.Timing].
	// Percentiles come from Histogram, which holds the same population; ask
	// Latency.Quantile for others.
	Latency   Latency
	Histogram *hdrhistogram.Histogram

	// Errors are the failed and unknown requests by class, in order of class.
	Errors []ClassCount

	// Steps and Operations are the same population by step and by operation, each in
	// the order of the load; they have neither themselves.
	Steps      []StepSummary
	Operations []OperationSummary
}

// StepSummary is the summary of one step.
type StepSummary struct {
	Step    int
	Clients int
	Summary
}

// OperationSummary is the summary of one operation of a mix, over all steps. Its
// window is the whole load's, so that the operations' rates sum to the load's.
type OperationSummary struct {
	Operation string
	Summary
}

// ClassCount is how many requests a class of error ended.
type ClassCount struct {
	Class string
	Count int64
}

// Throughput is the ok requests per second of the window; 0 without a window.
func (s *Summary) Throughput() float64 {
	if s.Window <= 0 {
		return 0
	}
	return float64(s.OK) / s.Window.Seconds()
}

// Summarize reads the canonical files of a tag folder and sums up the measured
// population, with run as the manifest describes it. Incomplete last lines are
// dropped; a file that is missing counts as empty, except intervals.csv.
func Summarize(dir string, run *DatabaseRun) (*Summary, error) {
	intervals, err := ReadIntervals(filepath.Join(dir, FileIntervals))
	if err != nil && !errors.Is(err, ErrTruncated) {
		return nil, err
	}
	return summarize(dir, run, intervals)
}

func summarize(dir string, run *DatabaseRun, intervals []Interval) (*Summary, error) {
	counts, err := ReadErrors(filepath.Join(dir, FileErrors))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	totals, err := TotalHistograms(dir)
	if err != nil {
		return nil, err
	}
	p := parts{steps: map[int]*StepSummary{}, operations: map[string]*OperationSummary{}}
	for step, window := range run.windows(intervals) {
		p.step(step).Window = window
	}
	for _, s := range run.Steps {
		p.step(s.Index).Clients = s.Clients
	}
	for i := range intervals {
		if v := &intervals[i]; v.Phase == PhaseMeasure {
			p.step(v.Step).Clients = v.Clients
			p.step(v.Step).addInterval(v, run.Timing(v.Step))
			p.operation(v.Operation).addInterval(v, run.Timing(v.Step))
		}
	}
	for s, h := range totals {
		if s.Phase == PhaseMeasure && s.Outcome == OK && s.Timing == run.Timing(s.Step) {
			p.step(s.Step).Histogram.Merge(h)
			p.operation(s.Operation).Histogram.Merge(h)
		}
	}
	for _, e := range counts {
		if e.Phase == PhaseMeasure || e.Phase == "" {
			p.step(e.Step).addErrors(e.Class, e.Count)
			p.operation(e.Operation).addErrors(e.Class, e.Count)
		}
	}
	return p.sum(run.Load), nil
}

// parts are the summaries of a load by step and by operation.
type parts struct {
	steps      map[int]*StepSummary
	operations map[string]*OperationSummary
}

func (p *parts) step(index int) *StepSummary {
	if p.steps[index] == nil {
		p.steps[index] = &StepSummary{Step: index, Summary: Summary{Histogram: NewHistogram()}}
	}
	return p.steps[index]
}

func (p *parts) operation(name string) *OperationSummary {
	if p.operations[name] == nil {
		p.operations[name] = &OperationSummary{Operation: name, Summary: Summary{Histogram: NewHistogram()}}
	}
	return p.operations[name]
}

// sum finishes every part and adds the steps up.
func (p *parts) sum(load Load) *Summary {
	all := &Summary{Histogram: NewHistogram()}
	for _, number := range slices.Sorted(maps.Keys(p.steps)) {
		step := p.steps[number]
		step.finish()
		all.add(&step.Summary)
		all.Steps = append(all.Steps, *step)
	}
	all.Latency.SetPercentiles(all.Histogram)
	for _, name := range load.ordered(slices.Sorted(maps.Keys(p.operations))) {
		o := p.operations[name]
		o.Window = all.Window
		o.finish()
		all.Operations = append(all.Operations, *o)
	}
	return all
}

// ordered returns operations in the order of the mix, others last.
func (l *Load) ordered(operations []string) []string {
	place := func(name string) int {
		if n := slices.IndexFunc(l.Mix, func(s Share) bool { return s.Operation == name }); n >= 0 {
			return n
		}
		return len(l.Mix)
	}
	slices.SortStableFunc(operations, func(a, b string) int { return place(a) - place(b) })
	return operations
}

// finish names the errors that have no record and takes the percentiles.
func (s *Summary) finish() {
	unrecorded := s.Failed + s.Unknown
	for _, e := range s.Errors {
		unrecorded -= e.Count
	}
	if unrecorded > 0 {
		s.addErrors(ClassUnrecorded, unrecorded)
	}
	s.Latency.SetPercentiles(s.Histogram)
}

// addInterval adds the counts and ok latencies of one interval.
func (s *Summary) addInterval(i *Interval, t Timing) {
	s.Due += i.Due
	s.Sent += i.Sent
	s.OK += i.OK
	s.Failed += i.Failed
	s.Unknown += i.Unknown
	s.Shed += i.Shed
	s.Unsent += i.Unsent
	s.Queued += i.Queued
	s.Late += i.Late
	s.Latency = s.Latency.Merge(*i.Latency(t, OK))
}

// addErrors adds to the count of a class.
func (s *Summary) addErrors(class string, n int64) {
	i, found := slices.BinarySearchFunc(s.Errors, class, func(c ClassCount, class string) int {
		return strings.Compare(c.Class, class)
	})
	if !found {
		s.Errors = slices.Insert(s.Errors, i, ClassCount{Class: class})
	}
	s.Errors[i].Count += n
}

// add adds another step's numbers.
func (s *Summary) add(o *Summary) {
	s.Window += o.Window
	s.Due += o.Due
	s.Sent += o.Sent
	s.OK += o.OK
	s.Failed += o.Failed
	s.Unknown += o.Unknown
	s.Shed += o.Shed
	s.Unsent += o.Unsent
	s.Queued += o.Queued
	s.Late += o.Late
	s.Latency = s.Latency.Merge(o.Latency)
	s.Histogram.Merge(o.Histogram)
	for _, e := range o.Errors {
		s.addErrors(e.Class, e.Count)
	}
}

// Quantile is the latency in nanoseconds at q, and whether the histogram has any
// value at all; [Enough] tells whether it has enough of them for q.
func (s *Summary) Quantile(q float64) (ns int64, known bool) {
	if s.Histogram.TotalCount() == 0 || s.Latency.Count == 0 {
		return 0, false
	}
	return s.Latency.Quantile(s.Histogram, q), true
}
