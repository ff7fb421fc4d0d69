package exposition

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// onePart exposes a part.
type onePart struct {
	*Parts
	part *Part
}

func (o onePart) Collect(out chan<- prometheus.Metric) { o.Send(out, o.part, "etcd") }

// families parses exposed metrics with the Prometheus parser.
func families(t *testing.T, p *Part) map[string]*dto.MetricFamily {
	t.Helper()
	h, err := Handler(onePart{NewParts("database"), p})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("scrape: %d, %v", w.Code, err)
	}
	return all
}

// specOf returns part 2 of 3.
func specOf() load.Spec {
	return load.Spec{
		Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}},
		Part: schedule.Part{Index: 1, Of: 3},
	}
}

// secondOf has three ok requests, taking 80 us, 1 ms and 30 s, and one for each other outcome.
func secondOf() load.Second {
	row := results.Interval{Operation: string(workload.OpWrite), Due: 6, Sent: 5, OK: 3, Failed: 1, Unknown: 1, Shed: 1, Queued: 2, Late: 1}
	h := histogram.New()
	for _, latency := range []time.Duration{80 * time.Microsecond, time.Millisecond, 30 * time.Second} {
		histogram.Record(h, latency)
		row.Latency(results.TimingService, workload.OK).Add(latency)
	}
	series := results.Series{Timing: results.TimingService, Operation: row.Operation, Outcome: workload.OK}
	return load.Second{Intervals: []results.Interval{row}, Latencies: []load.Latency{{Series: series, Histogram: h}}}
}

// Part records become counters, and a histogram whose counts and sum are exact.
func TestPart(t *testing.T) {
	p := NewPart(specOf())
	if got := families(t, p); len(got) != 0 {
		t.Errorf("a part without a second exposes %v", got)
	}
	for range 2 {
		p.Second(secondOf())
		p.Progress(load.Progress{Step: load.Step{Step: workload.Step{Clients: 10, Rate: 300}}, Offered: 6, Done: 6})
	}
	all := families(t, p)
	for name, want := range map[string]float64{
		"load_offered_total": 12, "load_sent_total": 10, "load_queued_total": 4, "load_late_total": 2, "load_unsent_total": 0,
		"load_clients": 3, "load_step_rate": 100, "load_step": 1,
	} {
		m := all[Prefix+name].GetMetric()
		if len(m) != 1 || m[0].GetCounter().GetValue()+m[0].GetGauge().GetValue() != want {
			t.Errorf("%s is %v, want %v", name, m, want)
		}
	}
	var outcomes float64
	for _, m := range all[Prefix+"load_outcomes_total"].GetMetric() {
		outcomes += m.GetCounter().GetValue()
	}
	if outcomes != 12 {
		t.Errorf("the outcomes add up to %v, want the 12 requests", outcomes)
	}
	latency := all[Prefix+"load_latency_seconds"].GetMetric()
	if len(latency) != 1 {
		t.Fatalf("%d histograms, want one of the service time", len(latency))
	}
	h := latency[0].GetHistogram()
	if sum := 2 * (80e-6 + 1e-3 + 30); h.GetSampleCount() != 6 || h.GetSampleSum() < sum*.999999 || h.GetSampleSum() > sum*1.000001 {
		t.Errorf("the histogram has %d requests and the sum %v, want 6 and %v", h.GetSampleCount(), h.GetSampleSum(), sum)
	}
	for _, b := range h.GetBucket() {
		want := uint64(0)
		switch le := b.GetUpperBound(); {
		case le > 10:
			want = 6
		case le >= 1e-3:
			want = 4
		case le >= 1e-4:
			want = 2
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("%d requests took at most %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
		}
	}
}

// docs/live.md names all part metrics.
func TestDocuments(t *testing.T) {
	page, err := os.ReadFile("../../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	p := NewPart(specOf())
	p.Second(secondOf())
	p.Progress(load.Progress{P50: 1, P99: 1})
	for name := range families(t, p) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/live.md does not name %s", name)
		}
	}
}
