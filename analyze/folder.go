package analyze

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coreos/dbtester/pkg/results"
)

// readFolder reads every database of one result folder. A missing or broken
// record is a gap of its column; the error is for a folder without a readable
// manifest.
func readFolder(dir string) ([]*column, error) {
	folder, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := folder.Manifest()
	if err != nil {
		return nil, err
	}
	var columns []*column
	for _, run := range manifest.Databases {
		columns = append(columns, readRun(folder, manifest, run))
	}
	return columns, nil
}

// readRun reads one database of a result folder.
func readRun(folder *results.Folder, manifest *results.Manifest, run *results.DatabaseRun) *column {
	c := &column{tag: run.Tag, manifest: manifest, run: run}
	c.stateGap()
	dir := folder.Path(run.Tag)
	intervals := read(c, filepath.Join(dir, results.FileIntervals), results.ReadIntervals)
	c.setWindows(intervals)
	c.setSeconds(intervals)
	c.setCounts(intervals)
	c.reads = okReads(intervals)
	c.setLatency(dir, intervals)
	c.gauges = results.Gauges(intervals)
	c.heat = c.readHeat(filepath.Join(dir, results.FileLatency), len(intervals) > 0)
	c.setErrors(read(c, filepath.Join(dir, results.FileErrors), results.ReadErrors))
	c.client = c.readMachine(filepath.Join(dir, results.FileClient), "client", 0)
	c.readMembers(dir)
	c.readLeaders(filepath.Join(dir, results.FileEvents))
	c.readLogs(filepath.Join(dir, results.DirLogs))
	return c
}

// stateGap says how the run ended if it did not end well.
func (c *column) stateGap() {
	switch c.run.State {
	case results.StateComplete:
	case results.StateFailed:
		c.gap("the run failed: %s", strings.ReplaceAll(c.run.Error, "\n", "; "))
	default:
		c.gap("the run is %s; the records end where it stopped", c.run.State)
	}
}

// readMembers reads the samples of every member, if anybody took them.
func (c *column) readMembers(dir string) {
	for i, m := range c.run.Members {
		name := fmt.Sprintf("member %d", i+1)
		if c.unattended() {
			c.servers = append(c.servers, machine{name: name, missing: noAgents})
			continue
		}
		var offset int64
		if m.Clock != nil {
			offset = int64(m.Clock.Offset)
		}
		c.servers = append(c.servers, c.readMachine(filepath.Join(dir, results.ServerFile(i+1)), name, offset))
	}
}

// read reads one record file and turns its error into a gap of the column.
func read[T any](c *column, path string, reader func(string) (T, error)) T {
	rows, err := reader(path)
	if err != nil {
		c.broken(filepath.Base(path), problem(path, err))
	}
	return rows
}

// problem says what is wrong with a file without naming the folder it was
// analyzed in, because a folder may be moved.
func problem(path string, err error) string {
	name := filepath.Base(path)
	var syntax *results.SyntaxError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name + " is missing"
	case errors.As(err, &syntax):
		return fmt.Sprintf("%s is unreadable from line %d on: %s", name, syntax.Line, syntax.Reason)
	case errors.Is(err, results.ErrTruncated):
		return name + ": " + results.ErrTruncated.Error()
	default:
		return fmt.Sprintf("%s cannot be read: %v", name, bare(err))
	}
}

// bare is an error's cause without the path it happened at.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (c *column) readMachine(path, name string, offset int64) machine {
	m := machine{name: name}
	samples, err := results.ReadSamples(path)
	if err != nil {
		c.gap("%s", problem(path, err))
	}
	m.samples = shifted(samples, offset)
	if len(samples) == 0 {
		m.missing = name + ": no samples"
	}
	return m
}

// setWindows takes the steps' windows from the manifest. What a run did not live
// to write is taken from the intervals.
func (c *column) setWindows(intervals []results.Interval) {
	c.window = recordedSpan(intervals)
	if !c.run.LoadStart.IsZero() {
		c.window.from = c.run.LoadStart.UnixNano()
	}
	if !c.run.LoadEnd.IsZero() {
		c.window.to = c.run.LoadEnd.UnixNano()
	} else if len(intervals) > 0 {
		c.gap("the manifest does not say when the load ended; it is taken from %s", results.FileIntervals)
	}
	steps := c.run.Steps
	if len(steps) == 0 {
		steps = []results.Step{{Clients: c.run.Load.Clients, Start: time.Unix(0, c.window.from), InsideNS: -1}}
	}
	for _, s := range steps {
		if s.Start.IsZero() { // never began
			continue
		}
		c.addWindow(s)
	}
}

// addWindow adds the measured part of a step. One whose end was not reached lasts
// as long as the records, and nothing is cut from that.
func (c *column) addWindow(s results.Step) {
	w := window{issued: span{s.Start.UnixNano(), c.window.to}, clients: s.Clients, inside: s.InsideNS}
	w.span = span{w.issued.from + int64(c.run.Load.WarmUp), c.window.to}
	if !s.End.IsZero() {
		from, to := c.run.Measured(s)
		w.span, w.issued.to = span{from.UnixNano(), to.UnixNano()}, s.End.UnixNano()
	}
	if !s.IssueEnd.IsZero() {
		w.issued.to = s.IssueEnd.UnixNano()
	}
	if !w.empty() {
		c.measured = append(c.measured, w)
	}
}

// recordedSpan is the seconds that the intervals cover.
func recordedSpan(intervals []results.Interval) span {
	if len(intervals) == 0 {
		return span{}
	}
	first, last := intervals[0].Second, intervals[0].Second
	for i := range intervals {
		first, last = min(first, intervals[i].Second), max(last, intervals[i].Second)
	}
	return span{first * 1e9, (last + 1) * 1e9}
}

// setSeconds merges the rows of intervals.csv into one per second and number of
// clients, all phases: what the clients saw in that second.
func (c *column) setSeconds(intervals []results.Interval) {
	type place struct {
		unix    int64
		clients int
	}
	at := map[place]int{}
	for i := range intervals {
		iv := &intervals[i]
		p := place{iv.Second, iv.Clients}
		n, known := at[p]
		if !known {
			n = len(c.seconds)
			at[p] = n
			c.seconds = append(c.seconds, second{unix: iv.Second, clients: iv.Clients})
		}
		c.seconds[n].ok += float64(iv.OK)
		c.seconds[n].latency.add(sumsOf(*iv.Latency(c.run.Timing(iv.Step), results.OK)))
	}
	slices.SortStableFunc(c.seconds, func(a, b second) int { return int(a.unix - b.unix) })
}

func (c *column) setCounts(intervals []results.Interval) {
	if c.run.Totals != nil {
		c.counts = counts(*c.run.Totals)
		c.failures = c.counts.Failed + c.counts.Unknown
		return
	}
	t := &c.counts
	t.Clamped = -1 // intervals do not tell
	for _, iv := range intervals {
		t.Offered += iv.Due
		t.Sent += iv.Sent
		t.OK += iv.OK
		t.Failed += iv.Failed
		t.Unknown += iv.Unknown
		t.Shed += iv.Shed
		t.Unsent += iv.Unsent
		t.Queued += iv.Queued
		t.Late += iv.Late
	}
	c.failures = t.Failed + t.Unknown
	if len(intervals) > 0 {
		c.gap("the manifest has no totals; requests are counted from %s", results.FileIntervals)
	}
}

// setLatency takes the measured population from its summary and makes the
// distributions that only a rate has.
func (c *column) setLatency(dir string, intervals []results.Interval) {
	if len(intervals) == 0 {
		c.latency = unknownDistribution(c.why(results.FileIntervals, "no second was recorded"))
		return
	}
	if _, err := os.Stat(filepath.Join(dir, results.FileTotal)); err != nil {
		c.gap("%s", problem(results.FileTotal, err))
	}
	summary, err := results.Summarize(dir, c.run)
	if err != nil {
		why := "the load cannot be summed up: " + problem(results.FileTotal, err)
		c.gap("%s", why)
		c.latency = unknownDistribution(why)
		return
	}
	c.elapsed, c.steps, c.operations = summary.Window.Seconds(), summary.Steps, summary.Operations
	c.latency, c.histogram = distributionOf(summary.Latency, summary.Histogram), summary.Histogram
	if !c.rated() {
		return
	}
	totals, err := results.TotalHistograms(dir)
	if err != nil {
		c.gap("%s", problem(results.FileTotal, err))
		return
	}
	var service results.Latency
	for i := range intervals {
		if iv := &intervals[i]; iv.Phase == results.PhaseMeasure {
			service = service.Merge(iv.Service[results.OK])
		}
	}
	c.service = distributionOf(service, merged(totals, func(s results.Series) bool {
		return s.Timing == results.TimingService && s.Outcome == results.OK
	}))
	c.offered = offeredDistribution(summary.Latency, summary.Histogram, unanswered{
		h: merged(totals, func(s results.Series) bool {
			return s.Timing == c.run.Timing(s.Step) && s.Outcome != results.OK
		}),
		n:     summary.Shed + summary.Unsent,
		least: int64(c.run.Load.Drain),
	})
}

// merged sums the histograms of the measured population that keep names.
func merged(totals map[results.Series]*hdrhistogram.Histogram, keep func(results.Series) bool) *hdrhistogram.Histogram {
	h := results.NewHistogram()
	for series, one := range totals {
		if series.Phase == results.PhaseMeasure && keep(series) {
			h.Merge(one)
		}
	}
	return h
}

// setErrors sums the errors by class, all phases; the text is the first one.
func (c *column) setErrors(rows []results.ErrorCount) {
	at := map[string]int{}
	for _, r := range rows {
		n, known := at[r.Class]
		if !known {
			n = len(c.errors)
			at[r.Class] = n
			c.errors = append(c.errors, errorCount{class: r.Class})
		}
		c.errors[n].count += r.Count
		if c.errors[n].text == "" {
			c.errors[n].text = r.FirstText
		}
	}
	slices.SortStableFunc(c.errors, func(a, b errorCount) int { return int(b.count - a.count) })
}

// readLogs counts the lines of the members' logs that the driver's rules match.
func (c *column) readLogs(dir string) {
	rules := map[int]*regexp.Regexp{}
	for i, rule := range c.run.LogRules {
		expression, err := regexp.Compile(rule.Pattern)
		if err != nil {
			c.gap("log rule %q is not a regular expression", rule.Event)
			continue
		}
		rules[i] = expression
		if !slices.ContainsFunc(c.logs, func(e logEvent) bool { return e.event == rule.Event }) {
			c.logs = append(c.logs, logEvent{event: rule.Event})
		}
	}
	if len(rules) == 0 {
		return
	}
	files, err := logFiles(dir)
	if err != nil || len(files) == 0 {
		c.gap("no log was collected")
		c.logs = nil
		return
	}
	for _, path := range files {
		if err := c.countEvents(path, rules); err != nil {
			c.gap("%s", problem(path, err))
		}
	}
}

// logFiles are the files below dir, in order.
func logFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

func (c *column) countEvents(path string, rules map[int]*regexp.Regexp) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		// A line longer than the buffer is matched in pieces: no event needs so much.
		line, _, err := lines.ReadLine()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read log: %w", err)
		}
		for i, rule := range c.run.LogRules {
			if expression := rules[i]; expression != nil && expression.Match(line) {
				at := slices.IndexFunc(c.logs, func(e logEvent) bool { return e.event == rule.Event })
				c.logs[at].count++
			}
		}
	}
}
