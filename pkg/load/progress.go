package load

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Progress reports once a second how far a load is.
type Progress struct {
	// Step has no functions, so that a kept progress does not keep the load's memory.
	Step    Step
	Elapsed time.Duration // since this step began
	// Second is when the last second began.
	Second time.Time
	// Done counts the requests, in all steps, that ended or were shed.
	Done int64
	// Span is the part of the last second that belongs to this step: less than a second where the
	// step began or ended in it. The counts in that second are divided by it for a rate.
	Span time.Duration
	// Offered and Ended count requests in the last second. Errors counts the failed and unknown
	// requests in all steps, without the declined ones.
	Offered, Ended, Errors, Declined int64
	// Faulty counts the failed and unknown requests in the last second that the database did not
	// decline. InFlight counts requests sent and not ended at its end.
	Faulty, InFlight int64
	// P50 and P99 cover the ok requests in the last second: response times with a rate, else
	// service times. They are 0 if nothing was ok.
	P50, P99 time.Duration
	// Ticks are the progress.csv rows for the ticks that ended in the last second, valid during
	// the call.
	Ticks []results.Progress
}

// Meter makes a [Progress] from each second. It is not safe for concurrent use.
type Meter struct {
	show    func(Progress)
	all     *hdrhistogram.Histogram
	deletes bool // keys may be gone because the load deletes
	// declined counts requests in all steps.
	declined int64
}

// NewMeter returns a meter for loads with some operations. It calls show once a second, if show
// is not nil.
func NewMeter(ops []workload.Op, show func(Progress)) *Meter {
	if show == nil {
		show = func(Progress) {}
	}
	return &Meter{show: show, all: histogram.New(), deletes: slices.Contains(ops, workload.OpDelete)}
}

// PerSecond returns a count in the last second as a rate; 0 if less than 100 ms of the second
// belong to the step, which is too short for a rate.
func (p Progress) PerSecond(count int64) int64 {
	if p.Span < 100*time.Millisecond {
		return 0
	}
	return int64(math.Round(float64(count) / p.Span.Seconds()))
}

// Report shows the progress after a second in a step that began elapsed ago. The second belongs to
// the step for span. Counts cover all steps up to the end of the second.
func (m *Meter) Report(step Step, elapsed, span time.Duration, counts results.Totals, s Second) {
	p := Progress{
		Step: Step{Index: step.Index, Step: step.Step, Start: step.Start}, Elapsed: elapsed, Second: s.Start, Span: span,
		Done:   counts.OK + counts.Failed + counts.Unknown + counts.Shed,
		Errors: counts.Failed + counts.Unknown, Ticks: s.Progress,
	}
	for _, row := range s.Intervals {
		p.Offered += row.Due
		p.Ended += row.OK + row.Failed + row.Unknown
	}
	for _, g := range results.Gauges(s.Intervals) {
		p.InFlight = g.InFlight
	}
	for _, e := range s.Errors {
		if !database.Declined(workload.Op(e.Operation), database.Class(e.Class), m.deletes) {
			p.Faulty += e.Count
		} else {
			m.declined += e.Count
		}
	}
	p.Errors, p.Declined = p.Errors-m.declined, m.declined
	m.all.Reset()
	for _, l := range s.Latencies {
		if l.Series.Timing == results.TimingResponse || step.Rate == 0 {
			m.all.Merge(l.Histogram)
		}
	}
	if m.all.TotalCount() > 0 {
		p.P50 = time.Duration(histogram.Quantile(m.all, 0.50))
		p.P99 = time.Duration(histogram.Quantile(m.all, 0.99))
	}
	m.show(p)
}
