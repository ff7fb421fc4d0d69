package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/analyze/answers/choose"
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/publish/index"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/process/garbage"
	"github.com/coreos/dbtester/pkg/remotestorage"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

type analyzeFlags struct {
	config  string
	results string // where LAST is searched for
	title   string
	labels  []string // --label RUN=NAME
	out     string
	rows    shownRows
	need    string
	png     bool // also draw figures as PNG
	seconds bool // also write the seconds of each run
	trace   bool // also write a trace for each run
	upload  string
	create  bool // create the bucket for upload
	project string
	fetch   fetchFlags
}

func newAnalyze(a *app) *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze RUN... | FOLDER... | URL... | --config FILE",
		Short: "Turn recorded runs into a table, percentiles, plots, a README and a page",
		Example: `  dbtester analyze LAST --open
  dbtester analyze LAST~1 LAST --label LAST~1=before --label LAST=after
  dbtester analyze --format json LAST
  dbtester analyze --need "rate: 5000/s, latency: 10ms, at: p99.9" results`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runAnalyze(cmd.Context(), f, args) },

		ValidArgsFunction: completeRuns,
	}
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "classic experiment file: analyze the files it names")
	cmd.Flags().StringVar(&f.out, "out", "", "folder for the report (default: report in the run's folder; for several runs, report in the folder that holds them all; for a run at a URL, report in the current folder)")
	cmd.Flags().StringVar(&f.title, "title", "", "title of the report (default: the experiments' title)")
	cmd.Flags().StringArrayVar(&f.labels, "label", nil, "RUN=NAME: name for the columns of a run, given by its path or by the path's last element; repeatable")
	cmd.Flags().BoolVar(&f.rows.all, "all", false, "print every row of the report with its definition, not only the first screen; all rows are in the report's files")
	cmd.Flags().BoolVar(&f.rows.summary, "summary", false, "also print each database in the style of HTTP benchmarks: totals, histogram, percentiles, outcomes")
	cmd.Flags().BoolVar(&f.rows.open, "open", false, openHelp)
	cmd.Flags().BoolVar(&f.png, "png", false, "also draw each figure as PNG, as a report of a classic file has it (takes longer than all else)")
	cmd.Flags().BoolVar(&f.seconds, "seconds", false, "also write the seconds of each run, which repeat its records, as CSV files: TAG-all-aggregated.csv, by keys and by number of clients, as a report of a classic file has them")
	cmd.Flags().BoolVar(&f.trace, "trace", false, "also write each run as TAG-trace.json.gz, which ui.perfetto.dev and chrome://tracing open: its seconds, steps, stalls, faults, events and lines of logs on one axis of time")
	f.rows.format.register(cmd, reportFormats()...)
	cmd.Flags().StringVar(&f.need, "need", "", "which databases meet this need, instead of the need in the runs: 5000/s, or \"rate: 5000/s, latency: 10ms, at: p99.9, errors: 0%\"; exit code 4 if none does")
	cmd.Flags().StringVar(&f.upload, "upload", "", "copy the report's files into this folder: gs://bucket/folder, s3://bucket/folder or file:///folder")
	f.fetch.register(cmd.Flags(), "file with the credentials for runs at a URL and for --upload (default: credentials from the environment)")
	registerNewest(cmd.Flags(), &f.results)
	registerCreate(cmd.Flags(), &f.create)
	registerProject(cmd.Flags(), &f.project)
	completeLabels(cmd)
	return cmd
}

// gcPercent trades CPU time for memory: records from hours of load fill the memory.
const gcPercent = 60

// memoryFor is the memory in bytes above which the collector spends more CPU time, for records with
// that many bytes and steps. Each step keeps histograms until the end. A day's records for three
// databases, about 1.3 GB, reach this memory. Larger records get more memory, because the CPU time
// must stay acceptable. Small records have no bound.
func memoryFor(records, steps int64) int64 {
	const small, day, ofDay, ofStep = 100 << 20, 1500 << 20, 190 << 20, 2 << 20
	switch {
	case records < small:
		return math.MaxInt64
	case records > day:
		return records/4 + steps*ofStep
	}
	return ofDay + steps*ofStep
}

// stepsOf counts the steps of all databases in the runs.
func stepsOf(runs []*results.Manifest) (n int64) {
	for _, m := range runs {
		for _, d := range m.Databases {
			n += int64(len(d.Steps))
		}
	}
	return n
}

// bytesOf returns the size of all files in and below folders, uncompressed. It leaves out
// unreadable files.
func bytesOf(folders []string) (sum int64) {
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if n, err := linefile.PlainSize(path); err == nil {
					sum += n
				}
			}
			return nil //nolint:nilerr // left out
		})
	}
	return sum
}

func (a *app) runAnalyze(ctx context.Context, f analyzeFlags, runs []string) (err error) {
	defer garbage.CollectAt(gcPercent)()
	o := analyze.Options{Folders: runs, Out: f.out, Title: f.title, Plots: plotsOf(config.DefaultPlots()), PNG: f.png, Seconds: f.seconds, Trace: f.trace}
	if f.need != "" {
		if o.Need, err = config.ParseNeed(f.need); err != nil {
			return usageError{err}
		}
	}
	var e *config.Experiment
	if f.config != "" {
		if e, err = a.readExperiment(f.config); err != nil {
			return err
		}
		o.Plots = plotsOf(e.Plots)
		if e.Classic {
			o.Classic = classicOf(e)
		}
	}
	if len(runs) == 0 && o.Classic == nil {
		return usageError{errors.New("name result folders, or a classic experiment file with --config")}
	}
	if f.create && f.upload == "" {
		return usageError{errors.New("--create-bucket needs --upload")}
	}
	if runs, err = a.namedRuns(runs, f.results); err != nil {
		return err
	}
	to, err := openReportStore(ctx, f.upload, remotestorage.Options{KeyFile: f.fetch.keyFile, Create: f.create, Project: f.project})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	remote, err := a.fetchRuns(ctx, f.fetch, runs)
	defer func() { err = errors.Join(err, remote.remove()) }()
	if err == nil && o.Classic != nil {
		err = a.fetchClassic(ctx, f.fetch, e, o.Classic, remote)
	}
	if err != nil {
		return err
	}
	if remote.remote && o.Out == "" {
		o.Out = results.DirReport
	}
	if o.Folders, err = a.withoutReports(remote.runs); err != nil {
		return err
	}
	o.Folders = runsBelow(o.Folders)
	if err := checkRuns(o.Folders); err != nil {
		return err
	}
	if o.Labels, err = labelsOf(f.labels, f.results, o.Folders); err != nil {
		return usageError{err}
	}
	manifests := manifestsOf(o.Folders)
	a.noteUndigested(manifests)
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryFor(bytesOf(o.Folders), stepsOf(manifests))))
	}
	f.rows.more = "the same command with --all"
	return a.printReport(ctx, o, f.rows, to)
}

// noteUndigested reports runs from before records had digests. Their reports do not change.
func (a *app) noteUndigested(runs []*results.Manifest) {
	old := 0
	for _, m := range runs {
		if slices.ContainsFunc(m.Databases, func(d *results.DatabaseRun) bool { return d.Digests == nil }) {
			old++
		}
	}
	if old > 0 {
		fmt.Fprintf(a.err, "no digests in %d of %d runs, which are older than digests: what was lost or damaged may not show\n", old, len(runs))
	}
}

// runsBelow replaces folders that are no runs but contain some with these runs, ordered by path.
func runsBelow(folders []string) (runs []string) {
	for _, folder := range folders {
		found := []string{}
		if _, err := os.Stat(filepath.Join(folder, results.FileManifest)); err != nil {
			found = analyze.RunsBelow(folder)
		}
		if len(found) == 0 {
			found = []string{folder} // a run, or an error in checkRuns
		}
		for _, run := range found {
			if !slices.Contains(runs, run) {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// labelsOf reads --label RUN=NAME. The RUN LAST is searched for below the results folder.
func labelsOf(texts []string, results string, folders []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		run, name, _ := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if run == "" || name == "" || len(name) > 60 || plaintext.Visible(name) != name {
			return nil, fmt.Errorf("--label must be RUN=NAME with a name of at most 60 visible characters, got %q", text)
		}
		run, err := namedRun(run, results)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(folders, func(folder string) bool {
			return filepath.Clean(folder) == filepath.Clean(run) || filepath.Base(folder) == run
		})
		if at < 0 {
			return nil, fmt.Errorf("--label names %q, which is none of the runs", run)
		}
		labels[folders[at]] = name
	}
	return labels, nil
}

func newIndex(a *app) *cobra.Command {
	var title string
	cmd := &cobra.Command{
		Use:     "index FOLDER",
		Short:   "List the reports below a folder in its README.md and index.html, with their verdicts",
		Example: `  dbtester index test-results`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runIndex(args[0], title) },
	}
	cmd.Flags().StringVar(&title, "title", "Results", "title of the page, and of a README that is new")
	return cmd
}

// runIndex writes the report list. If some reports are unreadable, it writes the others and returns
// an error.
func (a *app) runIndex(dir, title string) error {
	entries, unread := index.Find(dir)
	if len(entries) == 0 {
		return errors.Join(unread, usageError{fmt.Errorf("%s holds no report: dbtester analyze makes them", dir)})
	}
	files, err := index.Write(dir, title, entries)
	for _, file := range files {
		fmt.Fprintf(a.out, "%s in %s\n", english.Plural(len(entries), "report", ""), relative(file))
	}
	return errors.Join(unread, err)
}

// withoutReports removes reports on several runs from paths, because shell patterns for runs also
// match their report. It prints a note for each. If only reports were given, it returns an error.
func (s streams) withoutReports(paths []string) (runs []string, err error) {
	var skipped []string
	for _, path := range paths {
		report := path
		for range 2 { // a pattern one or two levels deeper matches its files
			if !analyze.IsReport(report) {
				report = filepath.Dir(report)
			}
		}
		switch {
		case !analyze.IsReport(report):
			runs = append(runs, path)
		case !slices.Contains(skipped, report):
			skipped = append(skipped, report)
			fmt.Fprintf(s.err, "dbtester: %s is a report, not a run: skipped\n", report)
		}
	}
	if len(runs) == 0 && len(skipped) > 0 {
		return nil, usageError{fmt.Errorf("%s is a report, not a result folder", skipped[0])}
	}
	return runs, nil
}

// shownRows selects which parts of a report to print.
type shownRows struct {
	outputFlags
	summary bool // each database in the style of HTTP benchmarks
	// more is the command that prints every row, and next the command for the next step; "" prints
	// neither.
	more, next string
	// written, if not nil, is called with the report page as soon as it is written. Its error is
	// only a warning, because the report exists.
	written func(page string) error
}

// printReport analyzes, and prints the first screen or all rows, the report path and the next step.
// It sends the report to the store.
func (s streams) printReport(ctx context.Context, o analyze.Options, rows shownRows, to reportStore) error {
	report, err := analyze.Run(ctx, o)
	if err != nil {
		return err
	}
	if rows.written != nil {
		if err := rows.written(pageOf(report)); err != nil {
			s.warn("%v", err)
		}
	}
	if err := s.showReport(report, rows); err != nil {
		return err
	}
	if err := s.notes(rows.format).sendReport(ctx, to, report); err != nil {
		return err
	}
	if rows.open {
		if err := s.open(ctx, pageOf(report)); err != nil {
			s.warn("%v", err) // the report exists
		}
	}
	return reportError(report)
}

// printUnwritten prints the machine-readable report on runs without writing files. An unmet need is
// an error unless the run failed with failure.
func (s streams) printUnwritten(ctx context.Context, o analyze.Options, f format, failure error) error {
	report, err := analyze.Read(ctx, o)
	if err != nil {
		return err
	}
	if err := s.result(report, f); err != nil || failure != nil {
		return err
	}
	return needError(report.Headline)
}

// result prints the report in a machine-readable format or as a document.
func (s streams) result(report *analyze.Report, f format) (err error) {
	var text []byte
	switch f.word {
	case formatJSON:
		text = []byte(plaintext.JSON(string(report.JSON())))
	case formatCSV:
		text = report.CSV()
	case formatMarkdown:
		text = []byte(report.Markdown())
	case formatJUnit:
		text, err = junitOf(report)
	case formatPerfdash:
		text, err = perfdashOf(report)
	}
	if err != nil {
		return err
	}
	_, err = s.out.Write(text)
	return err
}

// showReport prints a report and its location.
func (s streams) showReport(report *analyze.Report, rows shownRows) error {
	notes := s.notes(rows.format)
	switch {
	case rows.format.machine():
		if err := s.result(report, rows.format); err != nil {
			return err
		}
	case rows.all:
		fmt.Fprint(s.out, report.Text())
	default:
		fmt.Fprint(s.out, s.screen(report.Headline))
	}
	if rows.summary {
		fmt.Fprintf(notes.out, "\n%s\n", strings.TrimRight(plaintext.Visible(report.Summary()), "\n"))
	}
	fmt.Fprintf(notes.out, "\nreport in %s\n", notes.path(pageOf(report)))
	if !rows.all && rows.more != "" {
		fmt.Fprintf(notes.out, "every row: %s\n", rows.more)
	}
	if rows.next != "" {
		fmt.Fprintf(notes.out, "next: %s\n", rows.next)
	}
	return nil
}

// reportError returns the error that determines the exit code for report.
func reportError(report *analyze.Report) error {
	if len(report.Unread) > 0 {
		return fmt.Errorf("the report is incomplete: cannot read %s", strings.Join(report.Unread, ", "))
	}
	if incomplete := report.Incomplete(); len(incomplete) > 0 {
		return &invalidError{incomplete}
	}
	return needError(report.Headline)
}

// needError returns the error that determines the exit code for the need, or nil without a need.
func needError(h *headline.Headline) error {
	switch {
	case h.Choice == nil || h.Choice.Outcome == choose.Met:
		return nil
	case h.Trust.Level == headline.NotValid:
		return &invalidError{[]string{h.Trust.Text}}
	case h.Choice.Outcome == choose.NotMet:
		return &worseError{h.Choice.Verdict}
	}
	return &inconclusiveError{h.Choice.Verdict}
}

// plotsOf converts the time plots in an experiment file for analyze.
func plotsOf(plots []config.Plot) []analyze.Plot {
	out := make([]analyze.Plot, len(plots))
	for i, p := range plots {
		out[i] = analyze.Plot(p)
	}
	return out
}

// classicOf returns the files named in a classic experiment, in database order. It leaves out
// databases without input files.
func classicOf(e *config.Experiment) *analyze.Classic {
	c := &analyze.Classic{
		Path: e.Path, Title: e.Title, Description: e.Description,
		Report: analyze.ClassicReport{TableCSV: e.Report.TableCSV, TableTXT: e.Report.TableTXT, PlotDir: e.Report.PlotDir, README: e.Report.README},
	}
	for _, image := range e.Report.Images {
		c.Report.Images = append(c.Report.Images, analyze.Image(image))
	}
	for _, d := range e.Databases {
		if in, known := e.Inputs[d.Tag]; known {
			c.Runs = append(c.Runs, analyze.ClassicRun{
				ClassicFiles: analyze.ClassicFiles{Record: classicRecord(d), Files: in.Files, Servers: in.Servers},
				Outputs:      in.Outputs,
			})
		}
	}
	return c
}

// classicRecord derives the record for a run without manifest from its experiment file.
func classicRecord(d config.Database) *results.DatabaseRun {
	return &results.DatabaseRun{
		ID: d.ID, Database: d.Name, Tag: d.Tag, Description: d.Description, State: results.StateComplete, Leader: -1,
		Load: results.Load{
			Load: workload.Load{Content: workload.Content{Operation: d.Load.Operation, Read: d.Load.Read}, Extent: workload.Extent{Requests: d.Load.Requests, Clients: d.Load.Clients, Connections: d.Load.Connections}, Pace: workload.Pace{Rate: d.Load.Rate},
				Sizing:   workload.Sizing{KeySize: d.Load.KeySize, ValueSize: d.Load.ValueSize},
				Keyspace: workload.Keyspace{SameKey: d.Load.SameKey}},
		},
	}
}
