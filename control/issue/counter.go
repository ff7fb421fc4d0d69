package issue

import (
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// counter is the sink for the merged load. It counts the records that it passes on and reports
// progress.
type counter struct {
	load.MemberSink
	meter   *load.Meter // nil if the progress is shown elsewhere
	creates []string    // operations that create keys

	mu     sync.Mutex // guards the fields below
	step   load.Step
	start  time.Time
	counts Counts
	before results.Totals // from the steps that Restart left out
}

func newCounter(out load.MemberSink, ops []workload.Op, progress func(load.Progress)) *counter {
	c := &counter{MemberSink: out, meter: load.NewMeter(ops, progress)}
	for _, op := range ops {
		if op.Creates() {
			c.creates = append(c.creates, string(op))
		}
	}
	return c
}

// begin declares the step whose seconds follow.
func (c *counter) begin(step load.Step, start time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	step.Start = start
	c.step, c.start = step, start
}

// Second counts a second.
func (c *counter) Second(s load.Second) error {
	err := c.MemberSink.Second(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range s.Intervals {
		row := &s.Intervals[i]
		c.counts.Totals.Add(row)
		if slices.Contains(c.creates, row.Operation) {
			c.counts.Surely += row.OK
			c.counts.Perhaps += row.Unknown
		}
	}
	if len(s.Intervals) > 0 && c.meter != nil {
		elapsed := time.Since(c.start)
		span := min(time.Second, elapsed) // the first second begins with the step; seconds come late
		c.meter.Report(c.step, elapsed, span, c.counts.Totals, s)
	}
	return err
}

// restart removes earlier steps from the counts, except their keys.
func (c *counter) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = c.counts.Totals
}

// end returns the counts for the load.
func (c *counter) end() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.counts
	all.Totals = all.Totals.Minus(c.before)
	return all
}

var _ load.MemberSink = (*counter)(nil)

// Counts count over all steps since [Set.Restart]. Keys are counted over all steps.
type Counts struct {
	Totals results.Totals
	// Surely and Perhaps bound the number of keys that all steps created, like
	// [load.Recorder.Created].
	Surely, Perhaps int64
	// Lost is why generators were lost, by part; nil for the others. Requests by a lost generator
	// after its last second are not counted.
	Lost []error
	// Own is the end of the part issued by this process; nil if generators issued the load.
	Own *issuer.End
	// Resent and Waits count over all steps, including those before [Set.Restart]: requests that
	// clients sent again by themselves, and waits of clients for the watch.
	Resent int64
	Waits  load.Waits
}
