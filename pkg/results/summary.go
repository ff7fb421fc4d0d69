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

	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// ClassUnrecorded is the class of errors that intervals count but errors.csv lacks.
const ClassUnrecorded = "unrecorded"

// Summary is the measured population of a load or of one step, over all operations. Load numbers
// are made only here.
type Summary struct {
	// Window is the total length of the measured windows ([DatabaseRun.Measured]), without pauses
	// between steps.
	Window time.Duration
	// Served counts the requests that ended ok inside the windows, whenever they were due.
	// It is the throughput; OK below, which counts requests that were due inside, is not.
	Served Throughput

	Due, Sent, OK, Failed, Unknown, Shed, Unsent, Queued, Late int64

	// Latency covers the ok requests, by the [DatabaseRun.Timing] of each step. Percentiles come
	// from Histogram, which holds the same population; Latency.Quantile returns others.
	Latency   Latency
	Histogram *hdrhistogram.Histogram

	// Declined covers the requests that the database answered with less than they requested, as
	// the load makes it answer. They are part of Failed, with their own response times. Format 1
	// records do not distinguish them from other failures.
	Declined *hdrhistogram.Histogram
	// Unanswered are requests that neither ended ok nor were declined. [Summary.Ranking] has
	// the percentiles over all requests.
	Unanswered Unanswered

	// Errors counts the failed and unknown requests by class, in class order.
	Errors []ClassCount

	// Steps and Operations are the same population by step and by operation, each in the order of
	// the load. Their own Steps and Operations are empty.
	Steps      []StepSummary
	Operations []OperationSummary
}

// StepSummary covers one step's measured window.
type StepSummary struct {
	Step    int
	Clients int
	Summary
}

// OperationSummary summarizes one operation in a mix, over all steps. Its window is that of the
// whole load, so that operation rates sum to the load's rate.
type OperationSummary struct {
	Operation string
	Summary
}

// ClassCount counts the requests ended by an error class.
type ClassCount struct {
	Class string
	Count int64
}

// Throughput returns the requests per second that ended ok inside the windows; 0 if it is not
// known. [Throughput.Average] has the reason.
func (s *Summary) Throughput() float64 {
	average, _ := s.Served.Average()
	return average
}

// Summarize reads the canonical files in a tag folder and sums up the measured population, with
// run as the manifest describes it. Incomplete last lines are dropped; a file that is missing
// counts as empty, except intervals.csv.
func Summarize(dir string, run *DatabaseRun) (*Summary, error) {
	intervals, err := ReadIntervals(filepath.Join(dir, FileIntervals))
	if err != nil && !errors.Is(err, ErrTruncated) {
		return nil, err
	}
	return summarize(dir, run, intervals)
}

func summarize(dir string, run *DatabaseRun, intervals []Interval) (*Summary, error) {
	q, err := ReadRequests(dir, run, intervals)
	if err != nil {
		return nil, err
	}
	return q.Summarize(func(int) bool { return true }), nil
}

// Requests are what a folder records about the requests of a load, read once. They are safe for
// concurrent use.
type Requests struct {
	// Totals are those in latency-total.hlog, and for a killed run those in latency.hlog.
	Totals map[Series]*hdrhistogram.Histogram
	// ServedOK counts, from progress.csv, the requests that ended ok; Served is false for records
	// without that file.
	ServedOK int64
	Served   bool

	run        *DatabaseRun
	intervals  []Interval
	errors     []ErrorCount
	unanswered map[stepOperation]*Unanswered
	// windows and served come from progress.csv, by step; nil without that file.
	windows map[int]span
	served  map[int]map[string]Throughput
}

// ReadRequests reads the canonical files in a tag folder except intervals.csv, whose rows are
// given and must stay as they are. It calls each function in also with one progress.csv row after
// another, as [EachProgress] does. Its errors are as in [Summarize].
func ReadRequests(dir string, run *DatabaseRun, intervals []Interval, also ...func(*Progress)) (*Requests, error) {
	counts, err := ReadErrors(filepath.Join(dir, FileErrors))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	totals, err := totalHistograms(dir, intervals)
	if err != nil {
		return nil, err
	}
	q := &Requests{Totals: totals, run: run, intervals: intervals, errors: counts}
	progress := progressIn(dir)
	q.Served = progress != nil
	if q.windows, q.served, q.ServedOK, err = run.served(progress, also...); err != nil {
		return nil, err
	}
	q.unanswered = run.unanswered(intervals, progress, totals)
	return q, nil
}

// Summarize sums up the measured population of the steps that keep accepts.
func (q *Requests) Summarize(keep func(step int) bool) *Summary {
	p, run := parts{steps: map[int]*StepSummary{}, operations: map[string]*OperationSummary{}}, q.run
	for _, s := range run.Steps {
		if keep(s.Index) {
			p.step(s.Index).Clients = s.Clients
		}
	}
	for i := range q.intervals {
		if v := &q.intervals[i]; v.Phase == PhaseMeasure && keep(v.Step) {
			step, timing := p.step(v.Step), run.Timing(v.Step)
			step.Clients = v.Clients
			step.addInterval(v, timing)
			p.operation(v.Operation).addInterval(v, timing)
		}
	}
	for s, h := range q.Totals {
		if !keep(s.Step) || s.Phase != PhaseMeasure || s.Timing != run.Timing(s.Step) {
			continue
		}
		switch s.Outcome {
		case workload.OK:
			p.step(s.Step).Histogram.Merge(h)
			p.operation(s.Operation).Histogram.Merge(h)
		case workload.Declined:
			p.step(s.Step).Declined.Merge(h)
			p.operation(s.Operation).Declined.Merge(h)
		}
	}
	for at, u := range q.unanswered {
		if keep(at.step) {
			p.step(at.step).Unanswered.merge(u)
			p.operation(at.operation).Unanswered.merge(u)
		}
	}
	for _, e := range q.errors {
		if keep(e.Step) && (e.Phase == PhaseMeasure || e.Phase == "") {
			p.step(e.Step).addErrors(e.Class, e.Count)
			p.operation(e.Operation).addErrors(e.Class, e.Count)
		}
	}
	if q.served != nil {
		p.serve(q.windows, q.served, keep)
	} else {
		windows := run.windows(q.intervals, keep)
		maps.DeleteFunc(windows, func(step int, _ time.Duration) bool { return !keep(step) })
		p.serveOlder(run, windows)
	}
	return p.sum(run.Load)
}

// serve sets the windows for the steps that keep accepts, and the requests served in them.
func (p *parts) serve(windows map[int]span, all map[int]map[string]Throughput, keep func(step int) bool) {
	served := maps.Clone(all)
	maps.DeleteFunc(served, func(step int, _ map[string]Throughput) bool { return !keep(step) })
	for _, step := range slices.Sorted(maps.Keys(served)) {
		s := p.step(step)
		s.Served = served[step][""]
		s.Window = s.Served.Window
		for operation := range served[step] {
			if operation != "" {
				p.operation(operation)
			}
		}
	}
	for name, o := range p.operations {
		for step, by := range served {
			one, ok := by[name]
			if !ok { // nothing of it was due in this step
				one = windows[step].throughput(make([]int64, max(windows[step].seconds(), 1)))
			}
			o.Served.add(&one)
		}
	}
}

// serveOlder does the same with older records, without progress. They only show the number of
// requests that a whole step served; the number in a shorter window is not known.
func (p *parts) serveOlder(run *DatabaseRun, windows map[int]time.Duration) {
	whole := map[int]bool{}
	for _, s := range run.Steps {
		whole[s.Index] = !s.End.IsZero() && run.Load.WarmUp == 0 && run.duration(&s) == 0
	}
	of := func(step int, ok int64, window time.Duration) *Throughput {
		if !whole[step] {
			return &Throughput{Missing: NotRecorded, noSeconds: true}
		}
		return &Throughput{OK: ok, Window: window, noSeconds: true}
	}
	for step, window := range windows {
		s := p.step(step)
		s.Window = window
		s.Served = *of(step, s.OK, window)
		for _, o := range p.operations {
			o.Served.add(of(step, 0, window))
		}
	}
	for _, o := range p.operations {
		o.Served.OK = o.OK
	}
}

// newSummary returns a summary without requests.
func newSummary() Summary {
	return Summary{Histogram: histogram.New(), Declined: histogram.New()}
}

// parts are load summaries by step and by operation.
type parts struct {
	steps      map[int]*StepSummary
	operations map[string]*OperationSummary
}

func (p *parts) step(index int) *StepSummary {
	if p.steps[index] == nil {
		p.steps[index] = &StepSummary{Step: index, Summary: newSummary()}
	}
	return p.steps[index]
}

func (p *parts) operation(name string) *OperationSummary {
	if p.operations[name] == nil {
		p.operations[name] = &OperationSummary{Operation: name, Summary: newSummary()}
	}
	return p.operations[name]
}

// sum finishes every part and adds the steps up.
func (p *parts) sum(load Load) *Summary {
	sum := newSummary()
	all := &sum
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

// ordered returns operations in mix order, others last.
func (l *Load) ordered(operations []string) []string {
	place := func(name string) int {
		if n := slices.IndexFunc(l.Mix, func(s workload.Share) bool { return string(s.Operation) == name }); n >= 0 {
			return n
		}
		return len(l.Mix)
	}
	slices.SortStableFunc(operations, func(a, b string) int { return place(a) - place(b) })
	return operations
}

// finish names the errors without a record and takes the percentiles.
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

// addInterval adds the counts and ok latencies in one interval.
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
	s.Latency = s.Latency.Merge(*i.Latency(t, workload.OK))
}

// addErrors adds to a class count.
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
	s.Served.add(&o.Served)
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
	s.Declined.Merge(o.Declined)
	s.Unanswered.merge(&o.Unanswered)
	for _, e := range o.Errors {
		s.addErrors(e.Class, e.Count)
	}
}

// Quantile returns the latency in nanoseconds at q; known is false if the histogram is
// empty. [histogram.Enough] reports whether it has enough values for q.
func (s *Summary) Quantile(q float64) (ns int64, known bool) {
	if s.Histogram.TotalCount() == 0 || s.Latency.Count == 0 {
		return 0, false
	}
	return s.Latency.Quantile(s.Histogram, q), true
}
