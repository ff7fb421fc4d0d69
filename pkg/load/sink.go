package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results"
)

// Sink receives load records: one second after the other, and step totals when a step ends. One
// goroutine at a time calls its methods. An error does not stop the load; [Engine.Step] returns it.
type Sink interface {
	// Second receives one second. Its rows and histograms are valid during the call.
	Second(Second) error
	// Total receives one series for a whole step. Its histogram is valid during the call.
	Total(Total) error
}

// MemberSink is a [Sink] that also takes member histograms when a step ends.
type MemberSink interface {
	Sink
	// Member receives one histogram, which is valid during the call.
	Member(MemberTotal) error
}

// MemberTotal is a histogram for a whole step: measured ok requests to a member.
type MemberTotal struct {
	Series     results.MemberSeries
	Histogram  *hdrhistogram.Histogram
	Start, End time.Time
}

// Second holds the records for one second in one step.
type Second struct {
	Start     time.Time
	Intervals []results.Interval
	Errors    []results.ErrorCount
	// Progress has the rows for the ticks that ended by the end of the second and were not written
	// before. They are valid during the call.
	Progress []results.Progress
	// Answers has the answers for those ticks that lie in the measured window and have ok
	// requests. They are valid during the call.
	Answers []Answers
	// Members are rows for members that answered. They are valid during the call.
	Members []results.MemberSecond
	// Latencies cover ok requests, one for each phase, operation and clock with any. Failures
	// cover the others, one for each phase, operation, clock and outcome.
	Latencies, Failures []Latency
	// Last reports that the step has no later second.
	Last bool
}

// Latency is a histogram in nanoseconds and the series it belongs to.
type Latency struct {
	Series    results.Series
	Histogram *hdrhistogram.Histogram
}

// Total is one series for a whole step: a phase, operation, clock and outcome.
type Total struct {
	Latency
	Start, End time.Time
}
