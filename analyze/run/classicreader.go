package run

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// ClassicFiles names the files of one run, written by the classic tool or in its format.
type ClassicFiles struct {
	// Record is derived from the experiment file.
	Record *results.DatabaseRun
	// Files maps file names in the tag folder to paths.
	Files map[string]string
	// Servers are the interpolated sample files, one per server, in order.
	Servers []string
}

// classicReader reads the classic files for one run.
type classicReader struct {
	in    ClassicFiles
	run   *Run
	stage *Stage // the only stage
}

func (c *classicReader) path(logical string) string { return c.in.Files[logical] }

func (c *classicReader) gap(format string, args ...any) { c.run.Gaps.Add(format, args...) }

// records reads a CSV file. A missing or broken one is a gap.
func (c *classicReader) records(logical string) (out [][]string) {
	gaps, path := &c.run.Gaps, c.path(logical)
	if path == "" {
		gaps.broken(logical, logical+" is not named in the experiment file")
		return nil
	}
	f, err := regularfile.Open(path)
	if err != nil {
		gaps.broken(logical, problem(path, err))
		return nil
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.LazyQuotes = -1, true // messages are not quoted as CSV requires
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			gaps.broken(logical, fmt.Sprintf("%s is unreadable from row %d on", logical, len(out)+1))
			return out
		}
		out = append(out, record)
	}
}

func floats(fields []string) ([]float64, error) {
	out := make([]float64, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, fmt.Errorf("read number: %w", err)
		}
		out[i] = v
	}
	return out, nil
}

// classicSummary holds the rows of the summary file. An absent row is a missing measure.
type classicSummary struct {
	elapsed, throughput Measure
	mean, sd, min, max  Measure // ms
	failures            Measure
}

// readSummary reads the summary file.
func (c *classicReader) readSummary() (s classicSummary) {
	rows := map[string]*Measure{
		"TOTAL-SECONDS": &s.elapsed, "REQUESTS-PER-SECOND": &s.throughput,
		"SLOWEST-LATENCY-MS": &s.max, "FASTEST-LATENCY-MS": &s.min,
		"AVERAGE-LATENCY-MS": &s.mean, "STDDEV-LATENCY-MS": &s.sd,
	}
	stated := map[string]float64{}
	var failures int64
	failed := false
	for _, record := range c.records(results.FileClassicSummary) {
		if len(record) < 2 || record[1] == "" {
			continue
		}
		name := record[0]
		v, err := strconv.ParseFloat(record[len(record)-1], 64)
		switch {
		case err != nil:
			c.gap("%s: row %q is unreadable", results.FileClassicSummary, name)
		case rows[name] != nil:
			stated[name] = v
		case strings.HasPrefix(name, "ERROR"):
			failed, failures = true, failures+int64(v)
			c.addError(strings.Join(record[:len(record)-1], ","), int64(v))
		}
	}
	why := func(otherwise string) Measure {
		return Missing("%s", c.run.Gaps.why(results.FileClassicSummary, otherwise))
	}
	for name, row := range rows {
		*row = why(results.FileClassicSummary + " does not say")
		if v, known := stated[name]; known {
			*row = Measured(v, 0)
		}
	}
	if s.elapsed.Value == 0 {
		s.elapsed = why("the start and end of the load were not recorded")
	}
	s.failures = why("no error record")
	if failed {
		s.failures = Counted(failures)
	}
	return s
}

// addError adds a row such as ERROR,0 or ERROR: "message",12.
func (c *classicReader) addError(name string, n int64) {
	message := strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(name, "ERROR"), ":")), `"`)
	if message != "" {
		c.run.Load.Errors = append(c.run.Load.Errors, ErrorCount{Class: message, Count: n})
	}
}

// quantiles reads the percentile file. The classic tool wrote 0 for percentiles with too few
// requests.
func (c *classicReader) quantiles(n Measure) func(float64) Measure {
	stated := map[string]float64{}
	for i, record := range c.records(results.FileClassicPercentile) {
		if i == 0 || len(record) < 2 || record[1] == "" {
			continue
		}
		v, err := strconv.ParseFloat(record[1], 64)
		if err != nil {
			c.gap("%s: row %q is unreadable", results.FileClassicPercentile, strings.Join(record, ","))
			continue
		}
		stated[record[0]] = v
	}
	unstated := Missing("%s", c.run.Gaps.why(results.FileClassicPercentile, "a classic run does not record this percentile"))
	return func(q float64) Measure {
		name := "p" + strconv.FormatFloat(math.Round(q*1e6)/1e4, 'f', -1, 64)
		v, known := stated[name]
		switch {
		case !known:
			return unstated
		case v == 0:
			return Missing("the classic tool wrote 0 for too few requests")
		}
		m := Measured(v, n.Int())
		if n.Known() && !histogram.Enough(q, n.Int()) {
			m.Marks = append(m.Marks, FewMark)
		}
		return m
	}
}

// diskSizes reads the apparent sizes of the data directories; nil without any.
func (c *classicReader) diskSizes() (sizes []int64) {
	for i, record := range c.records(results.FileDisk) {
		if i == 0 || len(record) < 4 {
			continue
		}
		v, err := strconv.ParseInt(record[3], 10, 64)
		if err != nil || v == 0 {
			c.gap("%s: the size of data directory %s was not measured", results.FileDisk, record[0])
			continue
		}
		sizes = append(sizes, v)
	}
	return sizes
}
