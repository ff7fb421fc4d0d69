package histogram

import (
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/files/linefile"
)

// LogWriter appends to an HdrHistogram log, V2 encoding, log format 1.3, which the standard log
// readers read. Values are nanoseconds; time stamps are absolute unix seconds; the Interval_Max
// column is in milliseconds, the scale in the standard for nanoseconds. It is not safe for
// concurrent use.
type LogWriter struct {
	lines   *linefile.File
	encoder *encoder
	buf     []byte
}

// NewLogWriter opens or creates the log. A new one gets the standard header with the whole second
// of start as its StartTime: standard readers skip lines stamped before it, and the first line is
// stamped with its whole second.
func NewLogWriter(path string, start time.Time) (*LogWriter, error) {
	return newLogWriter(path, start, newEncoder())
}

// Another opens another log as [NewLogWriter] does. It works in the memory of this one, so the two
// are not safe for concurrent use with each other.
func (w *LogWriter) Another(path string, start time.Time) (*LogWriter, error) {
	return newLogWriter(path, start, w.encoder)
}

func newLogWriter(path string, start time.Time, encoder *encoder) (*LogWriter, error) {
	var b []byte
	b = fmt.Appendf(b, "#[Histogram log format version %s]\n", hdrhistogram.HISTOGRAM_LOG_FORMAT_VERSION)
	b = append(b, "#[dbtester: values in nanoseconds, Interval_Max in milliseconds, Tag=TIMING:OPERATION:OUTCOME:stepN:PHASE]\n"...)
	start = start.Truncate(time.Second)
	b = fmt.Appendf(b, "#[StartTime: %s (seconds since epoch), %s]\n", seconds(start.UnixMilli()), start.UTC().Format(time.RFC3339))
	b = append(b, `"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"`+"\n"...)
	lines, err := linefile.Open(path, b)
	if err != nil {
		return nil, err
	}
	return &LogWriter{lines: lines, encoder: encoder}, nil
}

// Write appends one line: the histogram of the requests that ended in [at, at+length), to the
// millisecond. A tag, or "", has no commas, spaces, line breaks or "=". An empty histogram writes
// nothing. The histogram, which holds 1 ns to [MaxLatency] with one to three digits, is not
// changed. After a failed write every Write returns that error.
func (w *LogWriter) Write(at time.Time, length time.Duration, tag string, h *hdrhistogram.Histogram) error {
	return w.write(at, length, tag, h, func(b []byte) ([]byte, error) { return w.encoder.append(b, h) })
}

// WritePacked writes like [LogWriter.Write], for a histogram shaped like [Packed].
func (w *LogWriter) WritePacked(at time.Time, length time.Duration, tag string, p *hdrhistogram.PackedHistogram) error {
	return w.write(at, length, tag, p, func(b []byte) ([]byte, error) { return w.encoder.appendBuckets(b, p.ForEachBucket) })
}

// WriteBuckets writes like [LogWriter.Write], for the buckets of a histogram shaped like [New].
func (w *LogWriter) WriteBuckets(at time.Time, length time.Duration, tag string, buckets Buckets) error {
	return w.write(at, length, tag, total{buckets}, func(b []byte) ([]byte, error) { return w.encoder.appendBuckets(b, buckets.each) })
}

// counts is any kind of histogram.
type counts interface {
	TotalCount() int64
	Max() int64
}

// total is buckets as a histogram.
type total struct{ Buckets }

func (t total) TotalCount() int64 { return t.Total() }

func (w *LogWriter) write(at time.Time, length time.Duration, tag string, h counts, encode func(b []byte) ([]byte, error)) error {
	if strings.ContainsAny(tag, ", =\t\r\n") {
		return fmt.Errorf("append to %s: tag %q has a comma, space or =", w.lines.Path(), tag)
	}
	if h.TotalCount() == 0 {
		return w.lines.Err()
	}
	b := appendLine(w.buf[:0], at, length, tag, h)
	b, err := encode(b)
	if err != nil {
		return fmt.Errorf("append to %s: encode histogram: %w", w.lines.Path(), err)
	}
	w.buf = append(b, '\n')
	return w.lines.Append(w.buf)
}

// appendLine appends a line up to its histogram.
func appendLine(b []byte, at time.Time, length time.Duration, tag string, h counts) []byte {
	if tag != "" {
		b = append(append(append(b, "Tag="...), tag...), ',')
	}
	return fmt.Appendf(b, "%s,%s,%.3f,", seconds(at.UnixMilli()), seconds(length.Milliseconds()), float64(h.Max())/hdrhistogram.MsToNsRatio)
}

// Close closes the file.
func (w *LogWriter) Close() error { return w.lines.Close() }

// seconds prints milliseconds as seconds, as log lines hold them.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// LogLine is a histogram with its time and tag.
type LogLine struct {
	// Line is its number in the file, from 1.
	Line   int
	Start  time.Time
	Length time.Duration
	// Tag is "" for a line without one.
	Tag       string
	Histogram *hdrhistogram.Histogram
}

// ReadLog reads a latency log line by line, because the histograms of an hour do not fit in memory.
// An error is the last pair: it matches [linefile.ErrTruncated] for an incomplete last line, and is
// a [*linefile.SyntaxError] for malformed data.
func ReadLog(path string) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		for line, err := range linefile.Lines(path) {
			if err != nil {
				yield(LogLine{}, err)
				return
			}
			if line.Text == "" || line.Text[0] == '#' || line.Text[0] == '"' {
				continue
			}
			l, err := parseLine(line.Text)
			if err != nil {
				err.File, err.Line = path, line.Number
				yield(LogLine{}, err)
				return
			}
			l.Line = line.Number
			if !yield(l, nil) {
				return
			}
		}
	}
}

// parseLine parses a line with its histogram.
func parseLine(text string) (LogLine, *linefile.SyntaxError) {
	l, encoded, err := parseFields(text)
	if err != nil {
		return LogLine{}, err
	}
	h, err := decoded(encoded)
	if err != nil {
		return LogLine{}, err
	}
	return LogLine{Start: l.Start, Length: l.Length, Tag: l.Tag, Histogram: h}, nil
}

// parseFields parses [Tag=TAG,]START,LENGTH,MAX,HISTOGRAM, and leaves the histogram
// encoded.
func parseFields(text string) (l BucketLine, encoded string, problem *linefile.SyntaxError) {
	if rest, ok := strings.CutPrefix(text, "Tag="); ok {
		l.Tag, text, _ = strings.Cut(rest, ",")
	}
	if n := strings.Count(text, ",") + 1; n != 4 {
		return l, "", &linefile.SyntaxError{Reason: fmt.Sprintf("%d fields instead of 4", n)}
	}
	var field [2]string
	field[0], text, _ = strings.Cut(text, ",")
	field[1], text, _ = strings.Cut(text, ",")
	_, encoded, _ = strings.Cut(text, ",")
	start, err := linefile.ParseFloat(field[0])
	if err != nil {
		return l, "", &linefile.SyntaxError{Column: "StartTimestamp", Reason: err.Error()}
	}
	length, err := linefile.ParseFloat(field[1])
	if err != nil {
		return l, "", &linefile.SyntaxError{Column: "Interval_Length", Reason: err.Error()}
	}
	l.Start = time.UnixMilli(int64(math.Round(start * 1000))).UTC()
	l.Length = time.Duration(math.Round(length*1000)) * time.Millisecond
	return l, encoded, nil
}

// decoded decodes a histogram of any shape.
func decoded(text string) (*hdrhistogram.Histogram, *linefile.SyntaxError) {
	if err := checkHistogram(text); err != nil {
		return nil, &linefile.SyntaxError{Column: "Interval_Compressed_Histogram", Reason: err.Error()}
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, &linefile.SyntaxError{Column: "Interval_Compressed_Histogram", Reason: err.Error()}
	}
	return h, nil
}
