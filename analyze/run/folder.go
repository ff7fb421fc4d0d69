package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/analyze/run/parallel"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/results/stalls"
	"github.com/coreos/dbtester/pkg/workload"
)

// FromFolder reads every database in one result folder. A missing or broken record becomes a gap in
// its run. FromFolder fails only if the manifest is unreadable.
func FromFolder(dir string) ([]*Run, error) {
	folders, _ := FromFolders(context.Background(), dir) // only ctx could fail
	return folders[0].Runs, folders[0].Err
}

// Folder holds the databases in a result folder, or the reason why its manifest is unreadable.
type Folder struct {
	Runs []*Run
	Err  error
}

// FromFolders reads several folders as [FromFolder] does, on all processors. It returns one Folder
// for each. It fails only when ctx ends.
func FromFolders(ctx context.Context, dirs ...string) ([]Folder, error) {
	folders := make([]Folder, len(dirs))
	var readers []*folderReader
	for i, dir := range dirs {
		of, err := readersOf(dir)
		folders[i].Err = err
		for _, f := range of {
			folders[i].Runs = append(folders[i].Runs, f.run)
		}
		readers = append(readers, of...)
	}
	// The files about members need the windows of the load.
	var files []func()
	if err := each(ctx, len(readers), func(i int) { readers[i].readRequests() }); err != nil {
		return nil, err
	}
	for _, f := range readers {
		files = append(files, f.machineFiles()...)
	}
	if err := each(ctx, len(files), func(i int) { files[i]() }); err != nil {
		return nil, err
	}
	return folders, each(ctx, len(readers), func(i int) { readers[i].finish() })
}

// each calls do on all processors, and stops with ctx's error when ctx ends.
func each(ctx context.Context, n int, do func(i int)) error {
	return parallel.Each(n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		do(i)
		return nil
	})
}

// readersOf returns a reader for each database in a result folder.
func readersOf(dir string) (readers []*folderReader, err error) {
	folder, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := folder.Manifest()
	if err != nil {
		return nil, err
	}
	for _, record := range manifest.Databases {
		readers = append(readers, &folderReader{
			dir: folder.Path(record.Tag), record: record,
			run: &Run{Info: Info{Tag: record.Tag, Manifest: manifest, Record: record}, Dir: folder.Path(record.Tag)},
		})
	}
	return readers, nil
}

// folderReader reads one database from a result folder.
type folderReader struct {
	dir    string // the tag folder
	record *results.DatabaseRun
	run    *Run
	// stalled are the steps with their stalls; nil if the requests could not be read.
	stalled []stalls.Step
	// places are the per-member records, nil until they are read.
	places *placeRecords
	// recorded are the rows in intervals.csv; unread is the error that ended reading.
	recorded []results.Interval
	unread   error
	// client and members are read file by file, each with its own gaps.
	client  machineRecord
	members []machineRecord
	clock   Gaps
}

// machineRecord holds the files about one machine.
type machineRecord struct {
	Machine
	own               Own
	samples, reported Gaps
}

// readRequests fills in the records that the client made of its requests.
func (f *folderReader) readRequests() {
	r, record, gaps := f.run, f.record, &f.run.Gaps
	f.recorded = read(gaps, f.path(results.FileIntervals), f.readIntervals)
	intervals := checkedIntervals(record, f.recorded, gaps)
	r.Windows = recordedWindows(record, recordedSpan(intervals), gaps)
	f.readLoad(intervals)
	r.Ageing = newAgeing(record)
	var latencies sync.WaitGroup // beside the stages: the last database has no other beside it
	var missing Gaps
	latencies.Go(func() { r.Heat = readHeat(f.dir, intervals, record, r.Windows.Load, r.Start(), &r.Ageing, &missing) })
	f.readStages(intervals)
	latencies.Wait()
	gaps.join(missing)
	f.recorded, f.places = nil, nil // free memory for the steps below
	r.Load.Errors = errorCounts(read(gaps, f.path(results.FileErrors), results.ReadErrors))
}

// finish adds the machines and the data that depends on them. It lists gaps by record, not in
// reading order.
func (f *folderReader) finish() {
	r, record, gaps := f.run, f.record, &f.run.Gaps
	r.Machines.Client = f.client.Machine
	gaps.join(f.client.samples)
	f.addMembers()
	f.readCapacity()
	r.Machines.readEvents(f.path(results.FileEvents), len(record.Members), r.Windows.Load, gaps)
	r.Machines.Logs = readLogs(f.path(results.DirLogs), record, gaps)
	r.Windows.Changes = r.stepChanges()
	r.setSteadiness()
	r.Stalls = stallsOf(r, f.stalled)
	r.setAgeing()
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

// readStages reads the numbers for each stage.
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
		finder := stalls.NewFinder(f.record)
		requests, err = results.ReadRequests(f.dir, f.record, f.recorded, finder.Add)
		if err == nil && requests.Served {
			f.stalled = finder.Steps()
		}
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
// the histogram for all requests, and a shared empty histogram replaces empty ones, which are as
// large as full ones.
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

// serviceOf returns service times in a stage with a rate.
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

// merged merges the histograms for measured requests that keep accepts.
func merged(totals map[results.Series]*hdrhistogram.Histogram, keep func(results.Series) bool) *hdrhistogram.Histogram {
	h := histogram.New()
	for series, one := range totals {
		if series.Phase == results.PhaseMeasure && keep(series) {
			h.Merge(one)
		}
	}
	return h
}

// machineFiles returns one function per sample file, which reads it. The functions may run
// concurrently.
func (f *folderReader) machineFiles() []func() {
	tracks, err := results.Tracks(f.dir, f.record)
	if err != nil {
		f.clock.broken(results.FileClock, problem(results.FileClock, err))
	}
	files := []func(){func() { f.run.damage = damageOf(f.record.Digests, f.dir) }, func() {
		f.client.Machine = readMachine(f.path(results.FileClient), "client", clocks.Track{}, &f.client.samples)
	}}
	f.members = make([]machineRecord, len(f.record.Members))
	for i := range f.members {
		m, name := &f.members[i], fmt.Sprintf("member %d", i+1)
		var track clocks.Track // control's own clock, where it asked the members itself
		if f.run.Info.Unattended() {
			m.Machine = Machine{Name: name, Missing: NoAgents}
		} else {
			track = tracks[i]
			files = append(files, func() {
				m.Machine = readMachine(f.path(results.ServerFile(i+1)), name, track, &m.samples)
			})
		}
		files = append(files, func() {
			m.own = readOwn(f.path(results.DatabaseFile(i+1)), track, &m.reported)
			if m.own.Answers.Len() > 0 {
				m.own.sizes = m.own.ageingStore(f.run.Ageing.Steps)
				m.own.settle(f.run.Windows.MeasuredSpans(), f.run.stageSpans()...)
			}
		})
	}
	return files
}

// addMembers adds member samples and data directory sizes.
func (f *folderReader) addMembers() {
	m, gaps := &f.run.Machines, &f.run.Gaps
	gaps.join(f.clock)
	for i := range f.members {
		one := &f.members[i]
		one.Own = one.own
		gaps.join(one.samples)
		gaps.join(one.reported)
		m.Servers = append(m.Servers, one.Machine)
	}
	m.setDisks(&f.run.Info, nil)
}
