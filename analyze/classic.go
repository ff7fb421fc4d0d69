package analyze

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// readClassic reads the inputs of a classic experiment file, one column per
// database that has any. Classic files hold per-second and whole-load summaries
// and no requests: what they state is taken, what they are known to state
// wrongly is computed from what they state rightly, or is not measured. What
// control left beside them of the run is taken too.
func readClassic(e *config.Experiment) []*column {
	var columns []*column
	for _, d := range e.Databases {
		in, known := e.Inputs[d.Tag]
		if !known {
			continue
		}
		c := &column{tag: d.Tag, classic: true, run: classicRun(d)}
		c.readSidecar(in.Files[results.FileClassicSummary])
		c.readClassicLoad(in)
		c.readClassicMachines(in)
		columns = append(columns, c)
	}
	return columns
}

// readSidecar takes the manifest that control leaves beside a classic summary, if
// there is one: what ran, what must be said of it, and how its requests ended.
func (c *column) readSidecar(summary string) {
	if summary == "" {
		return
	}
	m, err := results.ReadSidecar(summary)
	switch name := filepath.Base(results.SidecarPath(summary)); {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, results.ErrOtherRun):
		return // the classic tool leaves none
	case errors.Is(err, results.ErrOtherRun):
		c.gap("%s is not used: %v", name, results.ErrOtherRun)
		return
	case err != nil:
		c.gap("%s cannot be read: %v", name, bare(err))
		return
	}
	c.manifest, c.run = m, m.Databases[0]
	if c.run.Tag != c.tag {
		c.gap("its files were recorded as %s", c.run.Tag)
		c.run.Tag = c.tag // its outputs are named so
	}
	c.stateGap()
}

// classicRun is what the experiment file says of a database.
func classicRun(d config.Database) *results.DatabaseRun {
	return &results.DatabaseRun{
		ID: d.ID, Database: d.Name, Tag: d.Tag, Description: d.Description, State: results.StateComplete, Leader: -1,
		Load: results.Load{
			Operation: d.Load.Operation, ReadMode: d.Load.Read, Requests: d.Load.Requests, Rate: d.Load.Rate,
			Clients: d.Load.Clients, Connections: d.Load.Connections,
			KeySize: d.Load.KeySize, ValueSize: d.Load.ValueSize, SameKey: d.Load.SameKey,
		},
	}
}

// readClassicLoad reads the client's summaries.
func (c *column) readClassicLoad(in config.Inputs) {
	c.counts = counts{Offered: -1, Sent: -1, OK: -1, Failed: -1, Unknown: -1, Shed: -1, Unsent: -1, Queued: -1, Late: -1, Clamped: -1}
	c.failures = -1
	for i, record := range c.records(in.Files[results.FileClassicTimeseries], results.FileClassicTimeseries) {
		if i > 0 {
			c.addClassicSecond(record)
		}
	}
	c.setClassicWindow()
	if len(c.seconds) > 0 {
		total := 0.0
		for _, s := range c.seconds {
			total += s.ok
		}
		c.counts.OK = int64(total)
	}
	c.latency = c.classicLatency(in, c.counts.OK)
	switch t := c.run.Totals; {
	case t != nil:
		c.counts = counts(*t)
		if c.failures < 0 {
			c.failures = t.Failed + t.Unknown
		}
	case c.counts.OK >= 0 && c.failures >= 0:
		c.counts.Sent = c.counts.OK + c.failures
	}
}

// records reads a CSV file; a missing or broken one is a gap.
func (c *column) records(path, logical string) [][]string {
	if path == "" {
		c.broken(logical, logical+" is not named in the experiment file")
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		c.broken(logical, problem(path, err))
		return nil
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.LazyQuotes = -1, true // messages are quoted in their own way
	var out [][]string
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			c.broken(logical, fmt.Sprintf("%s is unreadable from row %d on", logical, len(out)+1))
			return out
		}
		out = append(out, record)
	}
}

// addClassicSecond adds a row of the time series: UNIX-SECOND,
// CONTROL-CLIENT-NUM, MIN-, AVG- and MAX-LATENCY-MS, AVG-THROUGHPUT.
func (c *column) addClassicSecond(record []string) {
	v, err := floats(record)
	if err != nil || len(v) < 6 {
		c.gap("%s: row %q is unreadable", results.FileClassicTimeseries, strings.Join(record, ","))
		return
	}
	s := second{unix: int64(v[0]), clients: int(v[1]), ok: v[5]}
	if v[5] > 0 {
		s.latency = sums{count: v[5], sum: v[3] * v[5], min: v[2], max: v[4]}
	}
	c.seconds = append(c.seconds, s)
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

// setClassicWindow takes the steps' windows from the manifest, if there is one, else
// makes them from the seconds themselves: the first and the last are partial, and one
// that two steps share is whole for neither. The load is taken in whole seconds,
// because the samples are.
func (c *column) setClassicWindow() {
	slices.SortStableFunc(c.seconds, func(a, b second) int { return int(a.unix - b.unix) })
	if c.manifest != nil && !c.run.LoadStart.IsZero() {
		c.setWindows(nil)
		c.window = span{floorDiv(c.window.from, 1e9) * 1e9, floorDiv(c.window.to+1e9-1, 1e9) * 1e9}
		return
	}
	if len(c.seconds) == 0 {
		return
	}
	first, last := c.seconds[0].unix, c.seconds[len(c.seconds)-1].unix
	c.window = span{first * 1e9, (last + 1) * 1e9}
	for i, s := range c.seconds {
		if s.unix == first || s.unix == last || c.seconds[i-1].unix == s.unix || c.seconds[i+1].unix == s.unix {
			continue
		}
		one := span{s.unix * 1e9, (s.unix + 1) * 1e9}
		if n := len(c.measured); n > 0 && c.measured[n-1].to == one.from && c.measured[n-1].clients == s.clients {
			c.measured[n-1].to, c.measured[n-1].issued.to = one.to, one.to
			continue
		}
		c.measured = append(c.measured, window{one, one, s.clients, -1})
	}
}

// classicLatency reads the summary and the percentile file.
func (c *column) classicLatency(in config.Inputs, n int64) *distribution {
	nan := math.NaN()
	d := &distribution{n: n, mean: nan, sd: nan, min: nan, max: nan}
	fields := map[string]*float64{
		"TOTAL-SECONDS": &c.elapsed, "REQUESTS-PER-SECOND": &c.reported,
		"SLOWEST-LATENCY-MS": &d.max, "FASTEST-LATENCY-MS": &d.min,
		"AVERAGE-LATENCY-MS": &d.mean, "STDDEV-LATENCY-MS": &d.sd,
	}
	for _, record := range c.records(in.Files[results.FileClassicSummary], results.FileClassicSummary) {
		if len(record) < 2 || record[1] == "" {
			continue
		}
		name := record[0]
		v, err := strconv.ParseFloat(record[len(record)-1], 64)
		switch field := fields[name]; {
		case err != nil:
			c.gap("%s: row %q is unreadable", results.FileClassicSummary, name)
		case field != nil:
			*field = v
		case strings.HasPrefix(name, "ERROR"):
			c.addClassicError(strings.Join(record[:len(record)-1], ","), int64(v))
		}
	}
	d.missing = c.why(results.FileClassicSummary, results.FileClassicSummary+" does not say")
	if n < 0 && c.reported > 0 && c.elapsed > 0 {
		d.n = int64(math.Round(c.reported * c.elapsed)) // as the tool divided them
	}
	d.quantile = c.classicQuantiles(in, d.n)
	return d
}

// addClassicError adds a row such as ERROR,0 or ERROR: "message",12.
func (c *column) addClassicError(name string, n int64) {
	c.failures = max(c.failures, 0) + n
	message := strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(name, "ERROR"), ":")), `"`)
	if message != "" {
		c.errors = append(c.errors, errorCount{class: message, count: n})
	}
}

// classicQuantiles reads the percentile file. The classic tool wrote 0 for a
// percentile of too few requests.
func (c *column) classicQuantiles(in config.Inputs, n int64) func(float64) (quantile, string) {
	stated := map[string]float64{}
	for i, record := range c.records(in.Files[results.FileClassicPercentile], results.FileClassicPercentile) {
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
	return func(q float64) (quantile, string) {
		name := "p" + strconv.FormatFloat(math.Round(q*1e6)/1e4, 'f', -1, 64)
		v, known := stated[name]
		switch {
		case !known:
			return quantile{}, c.why(results.FileClassicPercentile, "a classic run does not record this percentile")
		case v == 0:
			return quantile{}, "the classic tool wrote 0 for too few requests"
		}
		return quantile{ms: v, few: n >= 0 && !results.Enough(q, n)}, ""
	}
}

// readClassicMachines reads the interpolated samples and the disk summary.
func (c *column) readClassicMachines(in config.Inputs) {
	c.client = c.classicMachine(in.Files[results.FileClientInterpolated], "client")
	for i, path := range in.Servers {
		c.servers = append(c.servers, c.classicMachine(path, fmt.Sprintf("member %d", i+1)))
	}
	original := false
	for _, m := range append(slices.Clone(c.servers), c.client) {
		original = original || len(m.samples) > 0 && m.samples[0].Classic
	}
	if original {
		c.gap("the classic tool recorded numbers of threads in place of context switches, and no identity of machines: servers count as one machine each")
		if c.run.Load.Rate > 0 {
			c.gap("the classic tool timed requests from when a client sent them: at a rate, waiting for a free client is not in its latencies")
		}
	}
	for i, record := range c.records(in.Files[results.FileDisk], results.FileDisk) {
		if i == 0 || len(record) < 4 {
			continue
		}
		v, err := strconv.ParseInt(record[3], 10, 64)
		if err != nil || v == 0 {
			c.gap("%s: the size of data directory %s was not measured", results.FileDisk, record[0])
			continue
		}
		c.disks = append(c.disks, v)
	}
}

// classicMachine reads one interpolated file.
func (c *column) classicMachine(path, name string) machine {
	m := machine{name: name, missing: name + ": no samples"}
	if path == "" {
		c.gap("%s: its samples are not named in the experiment file", name)
		return m
	}
	samples, err := results.ReadSamples(path)
	if err != nil {
		c.gap("%s: %s", name, problem(path, err))
	}
	for _, s := range samples {
		if s.Interpolated {
			if !s.Classic {
				continue // made up between two samples that are here too
			}
			s.UnixNano += 5e8 // only its second is known: the middle is nearest
		}
		m.samples = append(m.samples, s)
	}
	m.samples = shifted(m.samples, 0)
	if backwards(samples) {
		c.gap("%s: its samples go back in time: the file holds several runs", name)
	}
	if len(m.samples) > 0 {
		m.missing = ""
	} else if errors.Is(err, fs.ErrNotExist) {
		m.missing = name + ": its samples are missing"
	}
	return m
}

// backwards tells a file that a second run was appended to.
func backwards(samples []results.Sample) bool {
	for i := 1; i < len(samples); i++ {
		if samples[i].Second() < samples[i-1].Second() {
			return true
		}
	}
	return false
}
