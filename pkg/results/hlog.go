package results

import (
	"iter"
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
func (s Series) Tag() string { panic("todo") }

// ParseSeries is the inverse of [Series.Tag].
func ParseSeries(tag string) (Series, error) { panic("todo") }

// LatencyWriter appends to an HdrHistogram log, V2 encoding, log format 1.3. It
// is not safe for concurrent use.
type LatencyWriter struct{ rows *rowFile }

// NewLatencyWriter opens or creates the log; a new one gets the standard header
// with start as its StartTime. Time stamps of lines are absolute unix seconds.
func NewLatencyWriter(path string, start time.Time) (*LatencyWriter, error) { panic("todo") }

// Write appends one line: the histogram of what ended in [at, at+length).
// An empty histogram writes nothing. The histogram is not changed. After an
// error every Write returns that error.
func (w *LatencyWriter) Write(at time.Time, length time.Duration, tag string, h *hdrhistogram.Histogram) error {
	panic("todo")
}

// Close closes the file.
func (w *LatencyWriter) Close() error { panic("todo") }

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
func ReadLatency(path string) iter.Seq2[LatencyLine, error] { panic("todo") }

// ReadTotals reads a latency log into one histogram per series; lines of one
// series are merged. Its errors are those of [ReadLatency], with what was read
// before.
func ReadTotals(path string) (map[Series]*hdrhistogram.Histogram, error) { panic("todo") }

// ReconcileLatency proves that the lines of a tag folder's latency.hlog sum to
// the ok histograms of its latency-total.hlog, bucket by bucket.
func ReconcileLatency(dir string) error { panic("todo") }
