package run

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// TestStagesKeepLittle: a stage lives as long as the report, and keeps neither its summary nor the
// histograms for the steps in that summary.
func TestStagesKeepLittle(t *testing.T) {
	g, summary, steps := func() (*Stage, weak.Pointer[results.Summary], weak.Pointer[results.StepSummary]) {
		newSummary := func() results.Summary {
			return results.Summary{OK: 1, Histogram: histogram.New(), Declined: histogram.New()}
		}
		s := newSummary()
		histogram.Record(s.Histogram, time.Second)
		s.Steps = []results.StepSummary{{Summary: newSummary()}}
		s.Operations = []results.OperationSummary{{Operation: "write", Summary: newSummary()}}
		g := &Stage{Latency: latencyOf(FromSent, &s, nil), Operations: slim(&s)}
		return g, weak.Make(&s), weak.Make(&s.Steps[0])
	}()
	runtime.GC()
	if summary.Value() != nil || steps.Value() != nil {
		t.Error("the stage keeps its summary, or that of its steps")
	}
	if q := g.Latency.Due.Quantile(.5); q.Value < 999 || q.Value > 1001 {
		t.Errorf("median %+v, want 1,000 ms", q)
	}
	if o := &g.Operations[0]; o.Histogram != g.Latency.Histogram || o.Declined != noneDeclined {
		t.Error("the only operation has histograms of its own")
	}
}
