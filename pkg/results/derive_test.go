package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// group is requests in one second, step, phase and outcome with the same latency.
type group struct {
	second  int // after epoch
	step    int
	phase   Phase
	outcome workload.Outcome
	n       int64
	took    time.Duration
	class   string // for failed and unknown ones; "" leaves errors.csv without them
}

// record writes the canonical files for groups as a load does. In a closed loop response is left
// out, else it is ten times service.
func record(t *testing.T, dir string, run *DatabaseRun, groups []group) {
	t.Helper()
	intervals := map[string]*Interval{}
	var order []*Interval
	var errs []ErrorCount
	lines, err := histogram.NewLogWriter(filepath.Join(dir, FileLatency), run.LoadStart)
	check(t, err)
	for _, g := range groups {
		second := epoch.Unix() + int64(g.second)
		key := fmt.Sprint(g.second, g.step, g.phase)
		i := intervals[key]
		if i == nil {
			i = &Interval{Second: second, Step: g.step, Phase: g.phase, Operation: "write", Clients: run.Steps[g.step].Clients}
			intervals[key], order = i, append(order, i)
		}
		i.Due, i.Sent = i.Due+g.n, i.Sent+g.n
		switch g.outcome {
		case workload.OK:
			i.OK += g.n
		case workload.Failed:
			i.Failed += g.n
		default:
			i.Unknown += g.n
		}
		if g.class != "" {
			errs = append(errs, ErrorCount{Second: second, Step: g.step, Phase: g.phase, Operation: "write", Class: g.class, Count: g.n})
		}
		for timing, factor := range map[Timing]time.Duration{TimingService: 1, TimingResponse: 10} {
			if timing == TimingResponse && run.Timing(g.step) == TimingService {
				continue
			}
			h := histogram.New()
			for range g.n {
				i.Latency(timing, g.outcome).Add(g.took * factor)
				histogram.Record(h, g.took*factor)
			}
			if g.outcome == workload.OK {
				check(t, lines.Write(time.Unix(second, 0), time.Second, Series{timing, "write", workload.OK, g.step, g.phase}.Tag(), h))
			}
		}
	}
	check(t, lines.Close())
	w, err := NewIntervalWriter(filepath.Join(dir, FileIntervals))
	check(t, err)
	for _, i := range order {
		check(t, w.Write([]Interval{*i}))
	}
	check(t, w.Close())
	recordProgress(t, dir, run, order)
	e, err := NewErrorWriter(filepath.Join(dir, FileErrors))
	check(t, err)
	check(t, e.Write(errs))
	check(t, e.Close())
}

// recordProgress writes a row for each interval: a tick in its second. Measured rows lie in the
// window of their step, others before it.
func recordProgress(t *testing.T, dir string, run *DatabaseRun, intervals []*Interval) {
	t.Helper()
	w, err := NewProgressWriter(filepath.Join(dir, FileProgress))
	check(t, err)
	for _, i := range intervals {
		s := run.Steps[i.Step]
		from, to := run.Measured(s)
		at := min(max(time.Unix(i.Second, 0).Sub(s.Start), from.Sub(s.Start)), to.Sub(s.Start)-ProgressTick)
		if i.Phase != PhaseMeasure {
			at = 0
		}
		check(t, w.Write([]Progress{{Step: i.Step, FromNS: int64(at), ToNS: int64(at + ProgressTick), Operation: i.Operation, Due: i.Due, OK: i.OK, Failed: i.Failed, Unknown: i.Unknown}}))
	}
	check(t, w.Close())
}

// writeTotals adds the totals written when a load ends.
func writeTotals(t *testing.T, dir string) {
	t.Helper()
	totals, err := ReadTotals(filepath.Join(dir, FileLatency))
	check(t, err)
	w, err := histogram.NewLogWriter(filepath.Join(dir, FileTotal), epoch)
	check(t, err)
	for s, h := range totals {
		check(t, w.Write(epoch, time.Minute, s.Tag(), h))
	}
	check(t, w.Close())
}

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// steppedRun returns a closed loop in two steps with half a second between them, each with one
// second of warm-up: 2 s are measured in the first and 2.5 s in the second.
func steppedRun() *DatabaseRun {
	return &DatabaseRun{
		Tag: "fake", State: StateComplete, Load: Load{Load: workload.Load{Content: workload.Content{Operation: "write"}, Extent: workload.Extent{Clients: 1}, Limits: workload.Limits{WarmUp: time.Second}}},
		Moments: Moments{LoadStart: at(0), LoadEnd: at(7)},
		Steps:   []Step{{Index: 0, Step: workload.Step{Clients: 1}, Start: at(0), End: at(3)}, {Index: 1, Step: workload.Step{Clients: 10}, Start: at(3.5), End: at(7)}},
		Members: []Member{
			{Index: 0, Endpoint: "127.0.0.1:2379", Disk: &Disk{ApparentBytes: 265_884_848, AllocatedBytes: 1}},
			{Index: 1, Endpoint: "127.0.0.2:2379"},
		},
	}
}

// steppedGroups: in second 3 the example in the classic tool for a step boundary, whose true mean
// is 5.61 ms; nothing in second 4.
func steppedGroups() []group {
	return []group{
		{0, 0, PhaseWarmUp, workload.OK, 100, time.Second, ""},
		{0, 0, PhaseWarmUp, workload.Failed, 5, time.Second, "other"},
		{1, 0, PhaseMeasure, workload.OK, 600, time.Millisecond, ""},
		{2, 0, PhaseMeasure, workload.Failed, 2, time.Second, "time-out"},
		{3, 0, PhaseMeasure, workload.OK, 56, 808_216 * time.Nanosecond, ""},
		{3, 1, PhaseMeasure, workload.OK, 1634, 5_769_990 * time.Nanosecond, ""},
		{5, 1, PhaseMeasure, workload.OK, 210, 12 * time.Millisecond, ""},
		{5, 1, PhaseMeasure, workload.OK, 1, 25 * time.Millisecond, ""},
		{5, 1, PhaseMeasure, workload.Failed, 3, time.Second, "connection lost"},
		{5, 1, PhaseMeasure, workload.Unknown, 1, time.Second, ""},
	}
}

// derived are the files made by Derive for a run with one server.
var derived = []string{
	FileClassicSummary, FileClassicPercentile, FileClassicAll, FileClassicTimeseries, FileClassicByKey,
	FileClientInterpolated, "1-" + FileServerInterpolated, FileDisk,
}

func recordStepped(t *testing.T) (dir string, run *DatabaseRun) {
	t.Helper()
	dir, run = t.TempDir(), steppedRun()
	record(t, dir, run, steppedGroups())
	writeTotals(t, dir)
	writeSamples(t, filepath.Join(dir, ServerFile(1)), testSample(100), testSample(103), testSample(104))
	client := testSample(100)
	client.Set(metric.Clients, -1)
	writeSamples(t, filepath.Join(dir, FileClient), client)
	return dir, run
}

func TestDeriveGolden(t *testing.T) {
	dir, run := recordStepped(t)
	check(t, Derive(dir, run))
	first := map[string]string{}
	for _, name := range derived {
		first[name] = mustRead(t, filepath.Join(dir, name))
		golden := filepath.Join("testdata", "derive", name)
		if *update {
			mustWrite(t, golden, first[name])
		}
		diff(t, name, strings.Split(mustRead(t, golden), "\n"), strings.Split(first[name], "\n"))
	}

	// The manifest read back gives the same bytes.
	data, err := json.Marshal(run)
	check(t, err)
	var again DatabaseRun
	check(t, json.Unmarshal(data, &again))
	check(t, Derive(dir, &again))
	for _, name := range derived {
		diff(t, name+", derived twice", first[name], mustRead(t, filepath.Join(dir, name)))
	}
}

// The numbers in the goldens, computed by hand.
func TestDeriveNumbers(t *testing.T) {
	dir, run := recordStepped(t)
	check(t, Derive(dir, run))
	lines := func(name string) []string {
		return strings.Split(strings.TrimSpace(mustRead(t, filepath.Join(dir, name))), "\n")
	}

	summary := lines(FileClassicSummary)
	want := []string{
		"TOTAL-SECONDS,4.5000",
		"REQUESTS-PER-SECOND,555.7778", // 2,501 ok in 4.5 s
		"SLOWEST-LATENCY-MS,25.0000",
		"FASTEST-LATENCY-MS,0.8082",
		"AVERAGE-LATENCY-MS,5.0454", // (600 + 56*0.808216 + 1634*5.76999 + 210*12 + 25) / 2501
	}
	diff(t, "summary", want, summary[:5])
	diff(t, "errors", []string{`"ERROR: ""connection lost""",3`, `"ERROR: ""time-out""",2`, `"ERROR: ""unrecorded""",1`}, summary[6:])
	diff(t, "distribution", []string{"LATENCY-MS,COUNT", "0,2290", "10,210", "20,1"}, lines(FileClassicAll))
	s := epoch.Unix()
	diff(t, "timeseries", []string{
		"UNIX-SECOND,CONTROL-CLIENT-NUM,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS,AVG-THROUGHPUT",
		fmt.Sprintf("%d,1,1.000000,1.000000,1.000000,600", s+1),
		fmt.Sprintf("%d,1,0.000000,0.000000,0.000000,0", s+2),
		fmt.Sprintf("%d,1,0.808216,0.808216,0.808216,56", s+3),
		fmt.Sprintf("%d,10,5.769990,5.769990,5.769990,1634", s+3),
		fmt.Sprintf("%d,10,0.000000,0.000000,0.000000,0", s+4),
		fmt.Sprintf("%d,10,12.000000,12.061611,25.000000,211", s+5),
	}, lines(FileClassicTimeseries))
	diff(t, "by key", []string{
		"KEYS,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS",
		"1000,0.808216,5.605576,5.769990", // (56*0.808216 + 1634*5.76999) / 1690
		"2000,0.808216,5.605576,5.769990",
		"2501,12.000000,12.061611,25.000000",
	}, lines(FileClassicByKey))
	diff(t, "disk", []string{
		"INDEX,DATABASE-ENDPOINT,DISK-SPACE-USAGE,DISK-SPACE-USAGE-BYTES-NUM",
		"0,127.0.0.1:2379,266 MB,265884848",
		"1,127.0.0.2:2379,,",
	}, lines(FileDisk))
	if n := len(lines("1-" + FileServerInterpolated)); n != 1+5 {
		t.Errorf("%d lines for seconds 100 to 104", n)
	}
}

func TestSummarizeSteps(t *testing.T) {
	dir, run := recordStepped(t)
	s, err := Summarize(dir, run)
	check(t, err)
	if len(s.Steps) != 2 {
		t.Fatalf("%d steps", len(s.Steps))
	}
	one, two := s.Steps[0], s.Steps[1]
	if one.Window != 2*time.Second || one.OK != 656 || one.Throughput() != 328 || one.Clients != 1 || one.Failed != 2 {
		t.Errorf("step 0: %v %d %v %+v", one.Window, one.OK, one.Throughput(), one)
	}
	if two.Window != 2500*time.Millisecond || two.OK != 1845 || two.Throughput() != 738 || two.Clients != 10 || two.Unknown != 1 {
		t.Errorf("step 1: %v %d %v", two.Window, two.OK, two.Throughput())
	}
	if one.Histogram.TotalCount() != one.OK || two.Histogram.TotalCount() != two.OK || s.Histogram.TotalCount() != s.OK {
		t.Error("a histogram holds another population than the counts")
	}
	if s.OK != one.OK+two.OK || s.Latency.Count != s.OK || s.Window != one.Window+two.Window {
		t.Errorf("steps do not sum up: %+v", s.Latency)
	}
	p50, known := two.Quantile(0.5)
	if !known || p50 < 5_769_990 || p50 > 5_776_000 {
		t.Errorf("p50 of step 1: %d, %v", p50, known)
	}
}

// With a rate the classic files hold response times.
func TestDeriveUsesResponseWithARate(t *testing.T) {
	dir, run := t.TempDir(), steppedRun()
	run.Load.Rate = 500
	record(t, dir, run, steppedGroups())
	writeTotals(t, dir)
	check(t, Derive(dir, run))
	summary := mustRead(t, filepath.Join(dir, FileClassicSummary))
	if !strings.Contains(summary, "SLOWEST-LATENCY-MS,250.0000\nFASTEST-LATENCY-MS,8.0822\n") {
		t.Errorf("summary: %s", summary)
	}
	if all := mustRead(t, filepath.Join(dir, FileClassicAll)); !strings.HasSuffix(all, "\n250,1\n") {
		t.Errorf("distribution: %s", all)
	}
}

// If every request fails, there are no latencies, and no zeros for them.
func TestDeriveNothingOK(t *testing.T) {
	dir, run := t.TempDir(), steppedRun()
	record(t, dir, run, []group{{1, 0, PhaseMeasure, workload.Failed, 7, time.Second, "unavailable"}})
	check(t, Derive(dir, run))
	for name, want := range map[string]string{
		FileClassicSummary: "TOTAL-SECONDS,4.5000\nREQUESTS-PER-SECOND,0.0000\nSLOWEST-LATENCY-MS,\nFASTEST-LATENCY-MS,\n" +
			"AVERAGE-LATENCY-MS,\nSTDDEV-LATENCY-MS,\n\"ERROR: \"\"unavailable\"\"\",7\n",
		FileClassicPercentile: "LATENCY-PERCENTILE,LATENCY-MS\np10,\np25,\np50,\np75,\np90,\np95,\np99,\np99.9,\n",
		FileClassicAll:        "LATENCY-MS,COUNT\n",
		FileClassicByKey:      "KEYS,MIN-LATENCY-MS,AVG-LATENCY-MS,MAX-LATENCY-MS\n",
	} {
		diff(t, name, want, mustRead(t, filepath.Join(dir, name)))
	}
}

// A killed run: the manifest has no times or steps, there are no totals, and the
// last lines are cut.
func TestDeriveKilledRun(t *testing.T) {
	dir, run := recordStepped(t)
	check(t, os.Remove(filepath.Join(dir, FileTotal)))
	for _, name := range []string{FileIntervals, FileErrors, ServerFile(1)} {
		path := filepath.Join(dir, name)
		text := mustRead(t, path)
		mustWrite(t, path, text[:len(text)-5])
	}
	check(t, os.Remove(filepath.Join(dir, FileClient)))
	run.LoadStart, run.LoadEnd, run.Steps, run.Members = time.Time{}, time.Time{}, nil, nil
	check(t, Derive(dir, run))
	// After the 1 s warm-up the last progress rows end 3 s and 1.6 s after the starts of their
	// steps.
	summary := mustRead(t, filepath.Join(dir, FileClassicSummary))
	if !strings.HasPrefix(summary, "TOTAL-SECONDS,2.6000\nREQUESTS-PER-SECOND,961.9231\n") { // 2,501 ok
		t.Errorf("summary: %s", summary)
	}
	if p := mustRead(t, filepath.Join(dir, FileClassicPercentile)); strings.Contains(p, "p50,\n") {
		t.Errorf("no percentiles, though there are lines: %s", p)
	}
	if _, err := os.Stat(filepath.Join(dir, FileClientInterpolated)); err == nil {
		t.Error("interpolated samples of nothing")
	}
	if n := strings.Count(mustRead(t, filepath.Join(dir, "1-"+FileServerInterpolated)), "\n"); n != 1+4 {
		t.Errorf("%d lines for seconds 100 to 103", n)
	}
}

// Large interpolated samples are made only for a program that reads them.
func TestDeriveLarge(t *testing.T) {
	dir, run := recordStepped(t)
	var samples []Sample // an hour apart, so that all seconds in between are interpolated
	for second := int64(100); second < 100+7*maxGap; second += maxGap {
		samples = append(samples, testSample(second))
	}
	for _, file := range []string{FileClient, ServerFile(1), ServerFile(2)} {
		check(t, os.RemoveAll(filepath.Join(dir, file)))
		writeSamples(t, filepath.Join(dir, file), samples...)
	}
	writeSamples(t, filepath.Join(dir, ServerFile(3)), samples[:2]...)
	check(t, Derive(dir, run, "2-"+FileServerInterpolated, FileClassicSummary))
	for file, made := range map[string]bool{
		FileClientInterpolated: false, "1-" + FileServerInterpolated: false, "2-" + FileServerInterpolated: true, "3-" + FileServerInterpolated: true,
	} {
		info, err := os.Stat(filepath.Join(dir, file))
		if (err == nil) != made {
			t.Errorf("%s was made: %v, want %v", file, err == nil, made)
		}
		if file[0] == '2' && err == nil && info.Size() < CompressFrom {
			t.Errorf("%s has %d bytes, want at least %d for this test", file, info.Size(), CompressFrom)
		}
	}
}

// One bad file is named, and what follows from the others is made.
func TestDeriveMalformed(t *testing.T) {
	dir, run := recordStepped(t)
	path := mustWrite(t, filepath.Join(dir, FileIntervals), "second\n")
	err := Derive(dir, run)
	if err == nil || !strings.Contains(err.Error(), path+":1: step: column is missing") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "1-"+FileServerInterpolated)); err != nil {
		t.Errorf("stat the file: %v", err)
	}
}

func TestMeasured(t *testing.T) {
	for _, tc := range []struct {
		name     string
		load     Load
		step     Step
		from, to float64
	}{
		{"all of it", Load{}, Step{Start: at(1), End: at(9)}, 1, 9},
		{"without warm-up", Load{Load: workload.Load{Limits: workload.Limits{WarmUp: 2 * time.Second}}}, Step{Start: at(1), End: at(9)}, 3, 9},
		{"with what was drained", Load{Load: workload.Load{Limits: workload.Limits{Drain: time.Minute}}}, Step{Start: at(1), End: at(9), IssueEnd: at(5)}, 1, 9},
		{"of a duration, until issuing ended", Load{Load: workload.Load{Limits: workload.Limits{Drain: time.Minute}}}, Step{Start: at(1), End: at(9), IssueEnd: at(6), Step: workload.Step{Duration: 5 * time.Second}}, 1, 6},
		{"of a duration, interrupted", Load{}, Step{Start: at(1), End: at(9), IssueEnd: at(3), Step: workload.Step{Duration: 5 * time.Second}}, 1, 3},
		{"without cool-down", Load{Load: workload.Load{Limits: workload.Limits{CoolDown: time.Second}}}, Step{Start: at(1), End: at(9), Step: workload.Step{Duration: 5 * time.Second}}, 1, 5},
		{"the load's duration", Load{Load: workload.Load{Limits: workload.Limits{CoolDown: time.Second}, Extent: workload.Extent{Duration: 5 * time.Second}}}, Step{Start: at(1), End: at(9)}, 1, 5},
		{"no cool-down without a duration", Load{Load: workload.Load{Limits: workload.Limits{CoolDown: time.Second}}}, Step{Start: at(1), End: at(9)}, 1, 9},
		{"ended before the cool-down", Load{Load: workload.Load{Limits: workload.Limits{CoolDown: time.Second}}}, Step{Start: at(1), End: at(3), Step: workload.Step{Duration: 5 * time.Second}}, 1, 3},
		{"ended in the warm-up", Load{Load: workload.Load{Limits: workload.Limits{WarmUp: 5 * time.Second}}}, Step{Start: at(1), End: at(3)}, 3, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := &DatabaseRun{Load: tc.load, Steps: []Step{tc.step}}
			if from, to := run.Measured(tc.step); !from.Equal(at(tc.from)) || !to.Equal(at(tc.to)) {
				t.Errorf("measured from %v to %v", from.Sub(epoch), to.Sub(epoch))
			}
		})
	}
}

// In a run killed in its second step, the first step has its recorded time. The second has its
// rows' time, or in an older format the rest of its recorded seconds.
func TestWindowsOfAKilledRun(t *testing.T) {
	dir, run := recordStepped(t)
	run.Steps = run.Steps[:1]
	run.Steps[0].End = at(3.25)
	s, err := Summarize(dir, run)
	check(t, err)
	if one, two := s.Steps[0].Window, s.Steps[1].Window; one != 2250*time.Millisecond || two != 600*time.Millisecond {
		t.Errorf("windows %v and %v, want 2.25 s and 0.6 s", one, two)
	}
	check(t, os.Remove(filepath.Join(dir, FileProgress)))
	s, err = Summarize(dir, run)
	check(t, err)
	if one, two := s.Steps[0].Window, s.Steps[1].Window; one != 2250*time.Millisecond || two != 2750*time.Millisecond {
		t.Errorf("windows without progress %v and %v, want 2.25 s and 2.75 s", one, two)
	}
	if _, missing := s.Served.Average(); missing != NotRecorded {
		t.Errorf("throughput without progress: %q, want %q", missing, NotRecorded)
	}
}

// The time series of the classic tool gives the same series again and its by-key rows, without the
// zero row and the overshoot at the end. The classic tool assigns a thousand to the second that
// begins it; ours assigns it to the second that completes it.
func TestClassicTimeseries(t *testing.T) {
	path := classicFile(t, "t-"+FileClassicTimeseries)
	var rows []secondRow
	for _, r := range readColumns(t, path) {
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(r[name], 64)
			check(t, err)
			return v
		}
		n := int64(number("AVG-THROUGHPUT"))
		ns := func(name string) int64 { return int64(number(name)*1e6 + 0.5) }
		rows = append(rows, secondRow{
			second: int64(number("UNIX-SECOND")), clients: int(number("CONTROL-CLIENT-NUM")), ok: n,
			latency: Latency{Count: n, SumNS: n * ns("AVG-LATENCY-MS"), MinNS: ns("MIN-LATENCY-MS"), MaxNS: ns("MAX-LATENCY-MS")},
		})
	}
	diff(t, "timeseries", mustRead(t, path), string(timeseriesTable(rows)))

	classic := readColumns(t, classicFile(t, "t-"+FileClassicByKey))
	got := parseColumns(t, string(byKeyTable(rows)))
	if len(got) != len(classic)-1 {
		t.Fatalf("%d by-key rows, the classic tool has %d and one too many", len(got), len(classic))
	}
	earlier, second, reached := 0, 0, rows[0].ok
	for i, row := range got {
		keys, err := strconv.ParseInt(row["KEYS"], 10, 64)
		check(t, err)
		for reached < keys {
			second++
			reached += rows[second].ok
		}
		if want := fmt.Sprintf("%f", float64(rows[second].latency.MaxNS)/1e6); row["MAX-LATENCY-MS"] != want {
			t.Errorf("%d keys: %s, but second %d has %s", keys, row["MAX-LATENCY-MS"], second, want)
		}
		if row["KEYS"] != classic[i]["KEYS"] {
			t.Errorf("row %d is of %s keys, the classic tool's of %s", i, row["KEYS"], classic[i]["KEYS"])
		}
		if row["AVG-LATENCY-MS"] != classic[i]["AVG-LATENCY-MS"] && keys%1000 == 0 {
			earlier++
		}
	}
	if last := got[len(got)-1]; last["KEYS"] != "60500" || last["AVG-LATENCY-MS"] != "7.743038" {
		t.Errorf("last row: %v", last)
	}
	if earlier >= len(rows) {
		t.Errorf("%d rows differ, more than one a second", earlier)
	}
}
