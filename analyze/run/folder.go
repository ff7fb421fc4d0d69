package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// FromFolder reads every database in one result folder. A missing or broken record becomes a gap of
// its run. FromFolder fails only if the manifest is unreadable.
func FromFolder(dir string) ([]*Run, error) {
	folder, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := folder.Manifest()
	if err != nil {
		return nil, err
	}
	var runs []*Run
	for _, record := range manifest.Databases {
		f := folderReader{
			dir: folder.Path(record.Tag), record: record,
			run: &Run{Info: Info{Tag: record.Tag, Manifest: manifest, Record: record}, Dir: folder.Path(record.Tag)},
		}
		f.read()
		runs = append(runs, f.run)
	}
	return runs, nil
}

// folderReader reads one database from a result folder.
type folderReader struct {
	dir    string // the tag's folder
	record *results.DatabaseRun
	run    *Run
	// places are the per-member records, nil until they are read.
	places *placeRecords
	// recorded are the rows of intervals.csv; unread is the error that ended reading.
	recorded []results.Interval
	unread   error
}

// read fills the run. Gaps are listed in the order of its steps.
func (f *folderReader) read() {
	r, record, gaps := f.run, f.record, &f.run.Gaps
	f.recorded = read(gaps, f.path(results.FileIntervals), f.readIntervals)
	intervals := checkedIntervals(record, f.recorded, gaps)
	r.Windows = recordedWindows(record, recordedSpan(intervals), gaps)
	f.readLoad(intervals)
	f.readStages(intervals)
	r.Heat = readHeat(f.path(results.FileLatency), intervals, record, r.Windows.Load, r.Start(), gaps)
	r.damage = damageOf(f.record.Digests, f.dir)
	f.recorded, f.places = nil, nil // free memory for the steps below
	r.Load.Errors = errorCounts(read(gaps, f.path(results.FileErrors), results.ReadErrors))
	r.Machines.Client = readMachine(f.path(results.FileClient), "client", clocks.Track{}, gaps)
	f.readMembers()
	f.readCapacity()
	r.Machines.readEvents(f.path(results.FileEvents), len(record.Members), r.Windows.Load, gaps)
	r.Machines.Logs = readLogs(f.path(results.DirLogs), record, gaps)
	r.Windows.Changes = r.stepChanges()
	r.setSteadiness()
}

func (f *folderReader) readIntervals(path string) (rows []results.Interval, err error) {
	rows, err = results.ReadIntervals(path)
	f.unread = err
	return rows, err
}

func (f *folderReader) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folderReader) why(otherwise string) string {
	return f.run.Gaps.why(results.FileIntervals, otherwise)
}

func (f *folderReader) readLoad(intervals []results.Interval) {
	l := &f.run.Load
	l.Seconds = secondsOf(intervals, f.record.Timing)
	l.Counts = folderCounts(f.record, intervals, &f.run.Gaps)
	l.Gauges = results.Gauges(intervals)
	l.MaxBacklog = maxBacklog(l.Gauges, f.why("no request was recorded"))
	l.Elapsed = Missing("%s", f.why("the start and end of the load were not recorded"))
}

// readStages reads each stage's numbers.
func (f *folderReader) readStages(intervals []results.Interval) {
	r := f.run
	requests, why := f.requests(intervals)
	if requests == nil {
		stages := stagesOf(stepsOf(f.record, []results.StepSummary{{Clients: f.record.Load.Clients}}))
		clock := clockOf(f.record, stages[0].Steps[0])
		r.Stages = []*Stage{{Clients: stages[0].Clients, Rate: stages[0].Rate, Latency: unknownLatency(clock, Missing("%s", why)), Throughput: unknownThroughput(Missing("%s", why)),
			Availability: noAvailability(Missing("%s", why)), Places: Places{Missing: Missing("%s", why)}}}
		return
	}
	summary, totals := requests.Summarize(func(int) bool { return true }), requests.Totals
	if summary.Window > 0 {
		r.Load.Elapsed = Measured(summary.Window.Seconds(), 0)
	}
	checkLatencyTotals(intervals, totals, &r.Gaps)
	checkProgress(f.record, requests, &r.Gaps)
	r.Stages = stagesOf(stepsOf(f.record, summary.Steps))
	for _, g := range r.Stages {
		part := summary
		if r.Staged() {
			part = requests.Summarize(func(step int) bool { return slices.Contains(g.Steps, step) })
		}
		clock := clockOf(f.record, g.Steps[0])
		var service *Distribution
		if clock == FromDue {
			service = serviceOf(g, intervals, totals)
		}
		g.Latency = latencyOf(clock, part, service)
		g.Throughput = ThroughputOf(&part.Served)
		g.Availability, g.Places = availabilityOf(&r.Info, g, part), f.placesOf(g)
		g.Operations = slim(part)
	}
}

// requests returns the request records, or the reason why they are unknown.
func (f *folderReader) requests(intervals []results.Interval) (*results.Requests, string) {
	if len(intervals) == 0 {
		return nil, f.why("no second was recorded")
	}
	if _, err := os.Stat(f.path(results.FileTotal)); err != nil {
		f.run.Gaps.Add("%s", problem(results.FileTotal, err))
	}
	err := f.unread
	if errors.Is(err, results.ErrTruncated) {
		err = nil
	}
	var requests *results.Requests
	if err == nil {
		requests, err = results.ReadRequests(f.dir, f.record, f.recorded)
	}
	if err != nil {
		why := "the load cannot be summed up: " + problem(results.FileTotal, err)
		f.run.Gaps.Add("%s", why)
		return nil, why
	}
	return requests, ""
}

// noneDeclined is the histogram for operations without declined requests. It stays empty, so its
// shape is irrelevant.
var noneDeclined = hdrhistogram.New(1, 1000, 1)

// slim returns the operations in a form worth keeping for the whole run: a single operation shares
// the histogram of all requests, and empty histograms, which are as large as full ones, are replaced
// by a shared one.
func slim(s *results.Summary) []results.OperationSummary {
	for i := range s.Operations {
		o := &s.Operations[i]
		if len(s.Operations) == 1 {
			o.Histogram = s.Histogram
		}
		if o.Declined.TotalCount() == 0 {
			o.Declined = noneDeclined
		}
	}
	return s.Operations
}

// serviceOf returns the service times of a stage with a rate.
func serviceOf(g *Stage, intervals []results.Interval, totals map[results.Series]*hdrhistogram.Histogram) *Distribution {
	var service results.Latency
	for i := range intervals {
		if iv := &intervals[i]; iv.Phase == results.PhaseMeasure && slices.Contains(g.Steps, iv.Step) {
			service = service.Merge(iv.Service[workload.OK])
		}
	}
	return DistributionOf(service, merged(totals, func(s results.Series) bool {
		return s.Timing == results.TimingService && s.Outcome == workload.OK && slices.Contains(g.Steps, s.Step)
	}))
}

// merged merges the histograms of measured requests that keep accepts.
func merged(totals map[results.Series]*hdrhistogram.Histogram, keep func(results.Series) bool) *hdrhistogram.Histogram {
	h := histogram.New()
	for series, one := range totals {
		if series.Phase == results.PhaseMeasure && keep(series) {
			h.Merge(one)
		}
	}
	return h
}

// readMembers reads samples and data directory sizes for every member with an agent.
func (f *folderReader) readMembers() {
	m := &f.run.Machines
	tracks, err := results.Tracks(f.dir, f.record)
	if err != nil {
		f.run.Gaps.broken(results.FileClock, problem(results.FileClock, err))
	}
	for i := range f.record.Members {
		name := fmt.Sprintf("member %d", i+1)
		if f.run.Info.Unattended() {
			m.Servers = append(m.Servers, Machine{Name: name, Missing: NoAgents})
			continue
		}
		server := readMachine(f.path(results.ServerFile(i+1)), name, tracks[i], &f.run.Gaps)
		server.Own = readOwn(f.path(results.DatabaseFile(i+1)), tracks[i], &f.run.Gaps)
		if server.Own.Answers.Len() > 0 {
			server.Own.settle(f.run.Windows.MeasuredSpans())
		}
		m.Servers = append(m.Servers, server)
	}
	m.setDisks(&f.run.Info, nil)
}
