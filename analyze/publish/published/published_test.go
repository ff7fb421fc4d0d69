package published

import (
	"archive/tar"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// published is a folder below test-results with its records.
type published struct {
	report  string // has numbers.csv
	records []string
}

// TestPublishedNumbers recomputes numbers in every published table from the published records. It
// reads CSV, JSON and histograms with public libraries, and shares no code with analyze. An
// experiment or a report without records fails.
func TestPublishedNumbers(t *testing.T) {
	reports := map[string]*published{}
	for _, pattern := range []string{"../../../test-results/*/experiment.yaml", "../../../test-results/*/numbers.csv", "../../../test-results/*/records"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			report := filepath.Dir(path)
			manifests, err := filepath.Glob(filepath.Join(report, "records", "*", "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			p := &published{report: report}
			for _, manifest := range manifests {
				p.records = append(p.records, filepath.Dir(manifest))
			}
			reports[report] = p
		}
	}
	if len(reports) == 0 {
		t.Fatal("there are no published results")
	}
	for _, p := range reports {
		name := filepath.Base(p.report)
		if slowtest.Fast() && name != "quickstart" {
			continue
		}
		if len(p.records) == 0 {
			t.Errorf("%s has no records: run make results NAMES=%s", p.report, name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			printed := readNumbers(t, filepath.Join(p.report, "numbers.csv"))
			compared := 0
			for _, run := range p.records {
				compared += compareRun(t, run, printed)
			}
			t.Logf("%d numbers of %s are those of its records", compared, p.report)
			if compared < 10*len(p.records) {
				t.Errorf("only %d numbers were compared", compared)
			}
		})
	}
}

// unpacked returns the folder into which it unpacks an archive.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return root.Name()
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(files)
		if err == nil {
			err = root.WriteFile(header.Name, data, 0o600)
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", path, header.Name, err)
		}
	}
}

// numberKey finds a number in numbers.csv by the position of its step in the row.
type numberKey struct {
	run, tag, metric string
	operation        string // "" for all
	step             int
}

func readNumbers(t *testing.T, path string) map[numberKey]float64 {
	t.Helper()
	numbers, seen := map[numberKey]float64{}, map[numberKey][]string{}
	for _, row := range readTable(t, path) {
		row0 := numberKey{run: row["run"], tag: row["database"], metric: row["metric"], operation: row["operation"]}
		if slices.Contains(seen[row0], row["step"]) {
			t.Errorf("%s has %s of %s twice", path, row["metric"], row["step"])
		}
		key := row0
		key.step = len(seen[row0])
		seen[row0] = append(seen[row0], row["step"])
		if value, err := strconv.ParseFloat(row["value"], 64); err == nil {
			numbers[key] = value
		}
	}
	return numbers
}

// readTable reads a CSV file into rows by column names.
func readTable(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// recordedRun holds the parts of a manifest that the numbers need.
type recordedRun struct {
	RunID     string `json:"run_id"`
	Databases []recordedDatabase
}

type recordedDatabase struct {
	Tag       string
	LoadStart time.Time `json:"load_start"`
	LoadEnd   time.Time `json:"load_end"`
	Steps     []recordedStep
	Members   []struct {
		Clock *struct {
			Offset int64 `json:"offset_ns"`
		}
	}
	Load struct {
		Steps []struct {
			Rate float64
		}
		Rate   float64
		WarmUp time.Duration `json:"warm_up_ns"`
	}
	Keys *struct {
		Before, After int64
		Error         string
	}
}

type recordedStep struct {
	Start, End time.Time
	IssueEnd   time.Time `json:"issue_end"`
	Requests   int64
	Duration   time.Duration `json:"duration_ns"`
	Rate       float64
}

// window is the measured part of a step: its time after the warm-up, however late its last request
// was sent, or to the last answer if a request count ends it.
func (s recordedStep) window(warmUp time.Duration) window {
	from := s.Start.Add(warmUp)
	switch end := s.Start.Add(s.Duration); {
	case s.Requests > 0:
		return window{from, s.End}
	case s.Duration > 0 && end.Before(s.IssueEnd):
		return window{from, end}
	}
	return window{from, s.IssueEnd}
}

type window struct{ from, to time.Time }

func compareRun(t *testing.T, run string, printed map[numberKey]float64) (compared int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest recordedRun
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	for _, d := range manifest.Databases {
		dir := run // for a record that was submitted
		if _, err := os.Stat(filepath.Join(run, d.Tag)); err != nil {
			dir = unpacked(t, filepath.Join(run, d.Tag+".tar.gz"))
		}
		again := computed{t: t, dir: filepath.Join(dir, d.Tag), of: d, numbers: map[numberKey]float64{}}
		again.counts()
		again.steps()
		again.members()
		again.servers()
		again.faults()
		for _, key := range slices.SortedFunc(maps.Keys(again.numbers), func(a, b numberKey) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}) {
			want := again.numbers[key]
			key.run, key.tag = manifest.RunID, d.Tag
			got, ok := printed[key]
			if !ok {
				t.Errorf("%s, %s: %s of step %d is not printed, and is %v", run, d.Tag, key.operation+" "+key.metric, key.step, want)
			} else if math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s, %s: %s of step %d is printed as %v, and is %v", run, d.Tag, key.operation+" "+key.metric, key.step, got, want)
			}
			compared++
		}
	}
	return compared
}

// computed are the numbers for one database that are computed from its records.
type computed struct {
	t       *testing.T
	dir     string
	of      recordedDatabase
	numbers map[numberKey]float64
}

func (c computed) set(metric string, step int, value float64) {
	c.numbers[numberKey{metric: metric, step: step}] = value
}

func (c computed) rows(file string) []map[string]string {
	return readTable(c.t, filepath.Join(c.dir, file))
}

func (c computed) number(row map[string]string, column string) float64 {
	c.t.Helper()
	value, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		c.t.Fatalf("%s: %s: %v", c.dir, column, err)
	}
	return value
}

// counts sums the outcomes over all requests in the load.
func (c computed) counts() {
	sums := map[string]float64{}
	for _, row := range c.rows("intervals.csv") {
		for _, column := range []string{"due", "sent", "ok", "failed", "unknown", "shed", "unsent"} {
			sums[column] += c.number(row, column)
		}
	}
	for metric, column := range map[string]string{"OFFERED": "due", "SENT": "sent", "OK": "ok", "FAILED": "failed", "UNKNOWN": "unknown", "SHED": "shed", "UNSENT": "unsent"} {
		c.set(metric, 0, sums[column])
	}
	if k := c.of.Keys; k != nil && k.Error == "" {
		c.set("KEYS-FOUND", 0, float64(k.After-k.Before))
	}
}

// part is a step, or the requests of one operation in it.
type part struct {
	step      int
	operation string // "" for all
}

func (p part) has(row map[string]string) bool {
	return row["step"] == strconv.Itoa(p.step) && (p.operation == "" || row["operation"] == p.operation)
}

// steps computes throughput and latencies for the measured part of each step and, in a mix, for
// each operation.
func (c computed) steps() {
	intervals, progress := c.rows("intervals.csv"), c.rows("progress.csv")
	operations := map[string]bool{}
	for _, row := range intervals {
		operations[row["operation"]] = true
	}
	histograms := map[string]map[part]*hdrhistogram.Histogram{"service": c.histograms("service"), "response": c.histograms("response")}
	for step, of := range c.of.Steps {
		timing := "service"
		if of.Rate > 0 || c.of.Load.Rate > 0 {
			timing = "response"
		}
		histograms := histograms[timing]
		c.part(part{step: step}, timing, intervals, progress, histograms)
		for operation := range operations {
			if len(operations) > 1 {
				c.part(part{step, operation}, timing, intervals, progress, histograms)
			}
		}
	}
}

func (c computed) part(p part, timing string, intervals, progress []map[string]string, histograms map[part]*hdrhistogram.Histogram) {
	of := c.of.Steps[p.step]
	answered, sum, fastest, slowest, sent, others := 0.0, 0.0, math.Inf(1), 0.0, 0.0, 0.0
	for _, row := range intervals {
		if !p.has(row) || row["phase"] != "measure" {
			continue
		}
		for _, column := range []string{"failed", "unknown", "shed", "unsent"} {
			others += c.number(row, column)
		}
		sent += c.number(row, "sent")
		n := c.number(row, timing+"_ok_count")
		if n == 0 {
			continue
		}
		answered += n
		sum += c.number(row, timing+"_ok_sum_ns")
		fastest = min(fastest, c.number(row, timing+"_ok_min_ns"))
		slowest = max(slowest, c.number(row, timing+"_ok_max_ns"))
	}
	if answered == 0 {
		return
	}
	set := func(metric string, value float64) {
		c.numbers[numberKey{metric: metric, operation: p.operation, step: p.step}] = value
	}
	set("AVG-LATENCY", sum/answered/1e6)
	inWindow, w := 0.0, of.window(c.of.Load.WarmUp)
	for _, row := range progress {
		from, to := time.Duration(c.number(row, "from_ns")), time.Duration(c.number(row, "to_ns"))
		if p.has(row) && !of.Start.Add(from).Before(w.from) && !of.Start.Add(to).After(w.to) {
			inWindow += c.number(row, "ok")
		}
	}
	set("AVG-THROUGHPUT", inWindow/w.to.Sub(w.from).Seconds())
	population := ""
	switch {
	case others == 0 && p.operation == "":
		set("SLOWEST-LATENCY", slowest/1e6)
	case others > 0: // requests without an answer rank above the others
		population = ", ok only"
	}
	if p.operation == "" {
		set("FASTEST-LATENCY", fastest/1e6)
	} else {
		set("REQUESTS", sent)
	}
	for name, q := range map[string]float64{"p50": .5, "p90": .9, "p99": .99} {
		if p.operation == "" || others == 0 && name != "p90" {
			set("Latency "+name+population, min(slowest, atRank(histograms[p], q))/1e6)
		}
	}
}

// members counts the requests that each member answered in each measured part.
func (c computed) members() {
	for _, row := range c.rows("members.csv") {
		if row["phase"] != "measure" || c.number(row, "member") < 0 {
			continue
		}
		step := int(c.number(row, "step"))
		key := numberKey{metric: fmt.Sprintf("member %v: REQUESTS", c.number(row, "member")+1), step: step}
		c.numbers[key] += c.number(row, "ok")
	}
}

// histograms reads the latencies of ok requests by step, for all operations together and for each.
func (c computed) histograms(timing string) map[part]*hdrhistogram.Histogram {
	f, err := os.Open(filepath.Join(c.dir, "latency-total.hlog"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	of := map[part]*hdrhistogram.Histogram{}
	for log := hdrhistogram.NewHistogramLogReader(f); ; {
		h, err := log.NextIntervalHistogram()
		if err != nil {
			c.t.Fatalf("%s: %v", c.dir, err)
		}
		if h == nil {
			return of
		}
		tag := strings.Split(h.Tag(), ":") // TIMING:OPERATION:OUTCOME:stepN:PHASE
		step, err := strconv.Atoi(strings.TrimPrefix(tag[3], "step"))
		if err != nil {
			c.t.Fatalf("%s: tag %q", c.dir, h.Tag())
		}
		if tag[0] != timing || tag[2] != "ok" || tag[4] != "measure" {
			continue
		}
		for _, p := range []part{{step: step}, {step, tag[1]}} {
			if of[p] == nil {
				of[p] = hdrhistogram.New(h.LowestTrackableValue(), h.HighestTrackableValue(), int(h.SignificantFigures()))
			}
			of[p].Merge(h)
		}
	}
}

// atRank returns the value at rank ceil(q n).
func atRank(h *hdrhistogram.Histogram, q float64) float64 {
	rank, below := int64(math.Ceil(q*float64(h.TotalCount()))), int64(0)
	for _, bar := range h.Distribution() {
		if below += bar.Count; below >= rank {
			return float64(bar.To)
		}
	}
	return math.NaN()
}

// faults computes the longest among the median times without an ok answer after each fault.
func (c computed) faults() {
	if _, err := os.Stat(filepath.Join(c.dir, "faults.csv")); errors.Is(err, os.ErrNotExist) {
		return
	}
	repeats := map[string][]float64{}
	for _, row := range c.rows("faults.csv") {
		repeats[row["fault"]] = append(repeats[row["fault"]], c.number(row, "blackout_ns")/1e9)
	}
	worst := 0.0
	for _, of := range repeats {
		slices.Sort(of)
		worst = max(worst, (of[(len(of)-1)/2]+of[len(of)/2])/2)
	}
	c.set("FAULT-BLACKOUT", 0, worst)
}

// servers computes the resources that members used, from the counters that enclose the load, and
// the fsyncs by the member with the most.
func (c computed) servers() {
	cpu, most, reported := 0.0, 0.0, true
	var windows []window
	for _, step := range c.of.Steps {
		windows = append(windows, step.window(c.of.Load.WarmUp))
	}
	for i, member := range c.of.Members {
		offset := int64(0)
		if member.Clock != nil {
			offset = member.Clock.Offset
		}
		file := fmt.Sprintf("%d-server-system-metrics.csv", i+1)
		cpu += c.growth(file, "CPU-SECONDS", offset, []window{{c.of.LoadStart, c.of.LoadEnd}})
		file = fmt.Sprintf("%d-database-metrics.csv", i+1)
		if _, err := os.Stat(filepath.Join(c.dir, file)); errors.Is(err, os.ErrNotExist) {
			reported = false
			continue
		}
		fsyncs := c.growth(file, "FSYNCS", offset, windows)
		most, reported = max(most, fsyncs), reported && !math.IsNaN(fsyncs)
	}
	if !math.IsNaN(cpu) {
		c.set("SERVER-CPU-SECONDS", 0, cpu)
	}
	if reported {
		c.set("MEMBER-FSYNCS", 0, most)
	}
}

// growth sums up the intervals between samples that the windows touch, each once, up to the last
// sample from /proc in the second that ends a window: the one before a stop may follow the regular
// one in that second. It is NaN if a sample has no value, or the counter started again.
func (c computed) growth(file, column string, offset int64, windows []window) float64 {
	const closeEnough = int64(100 * time.Millisecond)
	rows := slices.DeleteFunc(c.rows(file), func(row map[string]string) bool { return row["ERROR"] != "" })
	at := func(i int) int64 { return int64(c.number(rows[i], "UNIX-NANOSECOND")) - offset }
	touched := map[int]bool{}
	for _, w := range windows {
		from, to := w.from.UnixNano()+closeEnough, w.to.UnixNano()-closeEnough
		last := -1
		for i := range len(rows) - 1 {
			if at(i+1) > from && at(i) < to {
				touched[i], last = true, i+1
			}
		}
		for column == "CPU-SECONDS" && last > 0 && last+1 < len(rows) && at(last)/1e9 == at(last+1)/1e9 {
			touched[last] = true
			last++
		}
	}
	sum := 0.0
	if len(touched) == 0 {
		return math.NaN()
	}
	for i := range touched {
		if rows[i][column] == "" || rows[i+1][column] == "" {
			return math.NaN()
		}
		grown := c.number(rows[i+1], column) - c.number(rows[i], column)
		if grown < 0 { // the member was started again
			return math.NaN()
		}
		sum += grown
	}
	return sum
}
