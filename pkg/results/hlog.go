package results

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Series names one histogram of a latency log.
type Series struct {
	Timing    Timing
	Operation string
	Outcome   Outcome
	Step      int
	Phase     Phase
}

// Tag returns the series as the tag of a log line:
// TIMING:OPERATION:OUTCOME:stepN:PHASE, such as "response:write:ok:step0:measure".
func (s Series) Tag() string {
	return fmt.Sprintf("%s:%s:%s:step%d:%s", s.Timing, s.Operation, s.Outcome, s.Step, s.Phase)
}

// ParseSeries is the inverse of [Series.Tag].
func ParseSeries(tag string) (Series, error) {
	part := strings.Split(tag, ":")
	if len(part) != 5 {
		return Series{}, fmt.Errorf("tag %q is not TIMING:OPERATION:OUTCOME:stepN:PHASE", tag)
	}
	s := Series{Timing: Timing(part[0]), Operation: part[1], Phase: Phase(part[4])}
	if !slices.Contains(Timings[:], s.Timing) {
		return Series{}, fmt.Errorf("tag %q: unknown timing %q", tag, part[0])
	}
	o := slices.IndexFunc(Outcomes[:], func(o Outcome) bool { return o.String() == part[2] })
	if o < 0 {
		return Series{}, fmt.Errorf("tag %q: unknown outcome %q", tag, part[2])
	}
	s.Outcome = Outcomes[o]
	number, ok := strings.CutPrefix(part[3], "step")
	step, err := strconv.Atoi(number)
	if !ok || err != nil || step < 0 {
		return Series{}, fmt.Errorf("tag %q: %q is not a step", tag, part[3])
	}
	s.Step = step
	return s, nil
}

// LatencyWriter appends to an HdrHistogram log, V2 encoding, log format 1.3,
// which the standard log readers read. Values are nanoseconds; time stamps are
// absolute unix seconds; the Interval_Max column is in milliseconds, the
// standard's scale for nanoseconds. It is not safe for concurrent use.
type LatencyWriter struct {
	rows    *rowFile
	encoder *histogramEncoder
}

// NewLatencyWriter opens or creates the log; a new one gets the standard header
// with start as its StartTime.
func NewLatencyWriter(path string, start time.Time) (*LatencyWriter, error) {
	return newLatencyWriter(path, start, newHistogramEncoder())
}

// Another opens another log as [NewLatencyWriter] does. It works in the memory of
// this one, so the two are not safe for concurrent use with each other.
func (w *LatencyWriter) Another(path string, start time.Time) (*LatencyWriter, error) {
	return newLatencyWriter(path, start, w.encoder)
}

func newLatencyWriter(path string, start time.Time, encoder *histogramEncoder) (*LatencyWriter, error) {
	var b []byte
	b = fmt.Appendf(b, "#[Histogram log format version %s]\n", hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION)
	b = append(b, "#[dbtester: values in nanoseconds, Interval_Max in milliseconds, Tag=TIMING:OPERATION:OUTCOME:stepN:PHASE]\n"...)
	b = fmt.Appendf(b, "#[StartTime: %s (seconds since epoch), %s]\n", seconds(start.UnixMilli()), start.UTC().Format(time.RFC3339))
	b = append(b, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`+"\n"...)
	rows, err := openRows(path, b)
	if err != nil {
		return nil, err
	}
	return &LatencyWriter{rows, encoder}, nil
}

// Write appends one line: the histogram of what ended in [at, at+length), to the
// millisecond. A tag, "" for none, has no commas, spaces, line breaks or "=". An
// empty histogram writes nothing. The histogram is not changed. After a failed
// write every Write returns that error.
func (w *LatencyWriter) Write(at time.Time, length time.Duration, tag string, h *hdrhistogram.Histogram) error {
	if strings.ContainsAny(tag, ", =\t\r\n") {
		return fmt.Errorf("append to %s: tag %q has a comma, space or =", w.rows.path, tag)
	}
	if h.TotalCount() == 0 {
		return w.rows.err
	}
	b := w.rows.buf[:0]
	if tag != "" {
		b = append(append(append(b, "Tag="...), tag...), ',')
	}
	b = fmt.Appendf(b, "%s,%s,%.3f,", seconds(at.UnixMilli()), seconds(length.Milliseconds()), float64(h.Max())/hdrhistogram.MsToNsRatio)
	b, err := w.encoder.append(b, h)
	if err != nil {
		return fmt.Errorf("append to %s: encode histogram: %w", w.rows.path, err)
	}
	w.rows.buf = append(b, '\n')
	return w.rows.append(w.rows.buf)
}

// Close closes the file.
func (w *LatencyWriter) Close() error { return w.rows.close() }

// seconds prints milliseconds as seconds, as log lines hold them.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// LatencyLine is one line of a latency log.
type LatencyLine struct {
	Start  time.Time
	Length time.Duration
	// Tag is "" for a line without one.
	Tag       string
	Histogram *hdrhistogram.Histogram
}

// ReadLatency reads a latency log line by line, because the histograms of an
// hour do not fit in memory. An error is the last pair: one matching
// [ErrTruncated] for an incomplete last line, a [*SyntaxError] for malformed
// data.
func ReadLatency(path string) iter.Seq2[LatencyLine, error] {
	return func(yield func(LatencyLine, error) bool) {
		for line, err := range readLines(path) {
			if err != nil {
				yield(LatencyLine{}, err)
				return
			}
			if line.text == "" || line.text[0] == '#' || line.text[0] == '"' {
				continue
			}
			l, err := parseLatency(line.text)
			if err != nil {
				err.File, err.Line = path, line.number
				yield(LatencyLine{}, err)
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

// parseLatency parses [Tag=TAG,]START,LENGTH,MAX,HISTOGRAM.
func parseLatency(text string) (LatencyLine, *SyntaxError) {
	var l LatencyLine
	if rest, ok := strings.CutPrefix(text, "Tag="); ok {
		l.Tag, text, _ = strings.Cut(rest, ",")
	}
	field := strings.Split(text, ",")
	if len(field) != 4 {
		return l, &SyntaxError{Reason: fmt.Sprintf("%d fields instead of 4", len(field))}
	}
	start, err := parseFloat(field[0])
	if err != nil {
		return l, &SyntaxError{Column: "StartTimestamp", Reason: err.Error()}
	}
	length, err := parseFloat(field[1])
	if err != nil {
		return l, &SyntaxError{Column: "Interval_Length", Reason: err.Error()}
	}
	l.Start = time.UnixMilli(int64(math.Round(start * 1000))).UTC()
	l.Length = time.Duration(math.Round(length*1000)) * time.Millisecond
	if l.Histogram, err = hdrhistogram.Decode([]byte(field[3])); err != nil {
		return l, &SyntaxError{Column: "Interval_Compressed_Histogram", Reason: err.Error()}
	}
	return l, nil
}

// ReadTotals reads a latency log into one histogram per series; lines of one
// series are merged. Its errors are those of [ReadLatency], with what was read
// before.
func ReadTotals(path string) (map[Series]*hdrhistogram.Histogram, error) {
	totals := map[Series]*hdrhistogram.Histogram{}
	for l, err := range ReadLatency(path) {
		if err != nil {
			return totals, err
		}
		s, err := ParseSeries(l.Tag)
		if err != nil {
			return totals, fmt.Errorf("read %s: %w", path, err)
		}
		if totals[s] == nil {
			totals[s] = NewHistogram()
		}
		if dropped := totals[s].Merge(l.Histogram); dropped > 0 {
			return totals, fmt.Errorf("read %s: %s: %d values over %v", path, l.Tag, dropped, MaxLatency)
		}
	}
	return totals, nil
}

// TotalHistograms returns the histograms of a tag folder by series: those of
// latency-total.hlog, and for an ok series that a killed run had not yet totalled
// the sum of its lines in latency.hlog. Incomplete last lines are dropped.
func TotalHistograms(dir string) (map[Series]*hdrhistogram.Histogram, error) {
	totals, err := ReadTotals(filepath.Join(dir, FileTotal))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	recorded, err := recordedOK(dir)
	if err != nil {
		return nil, err
	}
	short := func(s Series) bool { return totals[s] == nil || totals[s].TotalCount() < recorded[s] }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(recorded)), short) {
		return totals, nil
	}
	lines, err := ReadTotals(filepath.Join(dir, FileLatency))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for s, h := range lines {
		if short(s) {
			totals[s] = h
		}
	}
	return totals, nil
}

// recordedOK counts the ok latencies of a tag folder's intervals by series.
func recordedOK(dir string) (map[Series]int64, error) {
	intervals, err := ReadIntervals(filepath.Join(dir, FileIntervals))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	counts := map[Series]int64{}
	for i := range intervals {
		for _, t := range Timings {
			if n := intervals[i].Latency(t, OK).Count; n > 0 {
				counts[Series{t, intervals[i].Operation, OK, intervals[i].Step, intervals[i].Phase}] += n
			}
		}
	}
	return counts, nil
}

// ReconcileLatency proves that the lines of a tag folder's latency.hlog sum to
// the ok histograms of its latency-total.hlog, bucket by bucket.
func ReconcileLatency(dir string) error {
	lines, err := ReadTotals(filepath.Join(dir, FileLatency))
	if err != nil {
		return fmt.Errorf("reconcile latencies: %w", err)
	}
	totals, err := ReadTotals(filepath.Join(dir, FileTotal))
	if err != nil {
		return fmt.Errorf("reconcile latencies: %w", err)
	}
	for s := range totals {
		if s.Outcome == OK && lines[s] == nil {
			lines[s] = NewHistogram()
		}
	}
	series := slices.SortedFunc(maps.Keys(lines), func(a, b Series) int { return strings.Compare(a.Tag(), b.Tag()) })
	var errs []error
	for _, s := range series {
		sum, total := lines[s], totals[s]
		if total == nil {
			total = NewHistogram()
		}
		if !sum.Equals(total) {
			errs = append(errs, fmt.Errorf("reconcile %s in %s: lines hold %d latencies, the total %d, or in other buckets",
				s.Tag(), dir, sum.TotalCount(), total.TotalCount()))
		}
	}
	return errors.Join(errs...)
}
