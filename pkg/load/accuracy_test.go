package load

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// seconds is a sink that counts the requests that were due and sent in each second.
type seconds struct {
	due, sent map[int64]int64
}

func (s *seconds) Second(sec Second) error {
	for _, r := range sec.Intervals {
		s.due[r.Second] += r.Due
		s.sent[r.Second] += r.Sent
	}
	return nil
}

func (s *seconds) Total(Total) error { return nil }

// BenchmarkRate50k measures how exactly this machine keeps 50,000 requests per second for 5 s, with
// an idle client. The number of requests due in a second is checked by arithmetic, to one request;
// sent requests and their lateness are measured.
//
//	go test -run '^$' -bench Rate50k -benchtime 1x ./pkg/load
func BenchmarkRate50k(b *testing.B) {
	const rate, length = 50_000, 5
	for _, clients := range []int{100, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			for b.Loop() {
				spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 64}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}}
				sink := &seconds{due: map[int64]int64{}, sent: map[int64]int64{}}
				rec := NewRecorder(sink, spec.Operations(), nil)
				step := Step{Step: workload.Step{Clients: clients, Rate: rate, Duration: length * time.Second}}
				res, err := NewEngine(spec, rec).Step(b.Context(), step, []database.Client{null{}})
				if err != nil {
					b.Fatalf("run the step: %v", err)
				}
				reportRate(b, sink, rec, res, rate, length)
			}
		})
	}
}

// reportRate checks the arithmetic and reports the measurements.
func reportRate(b *testing.B, sink *seconds, rec *Recorder, res StepResult, rate, length int64) {
	start := res.Start.UnixNano()
	due := func(t int64) int64 { // before a time after the start
		return min(max((t*rate+1e9-1)/1e9, 0), rate*length)
	}
	most := 0.0
	for sec, n := range sink.due {
		want := due((sec+1)*1e9-start) - due(sec*1e9-start)
		if n < want-1 || n > want+1 {
			b.Errorf("%d requests were due in second %d, want %d", n, sec, want)
		}
		if want == rate { // a whole second
			most = max(most, float64(sink.sent[sec])/float64(want))
		}
	}
	t := rec.Totals()
	if t.Offered != rate*length || !t.Reconcile() {
		b.Errorf("counts %+v, want %d offered that reconcile", t, rate*length)
	}
	late := rec.Lateness()
	b.ReportMetric(most, "max-sent/due")
	b.ReportMetric(float64(late.P50)/1e3, "late-p50-us")
	b.ReportMetric(float64(late.P99)/1e3, "late-p99-us")
	b.ReportMetric(100*float64(t.Late)/float64(t.Offered), "late>1ms-%")
	b.ReportMetric(100*float64(t.Queued)/float64(t.Offered), "queued-%")
	b.ReportMetric(float64(t.Unsent), "unsent")
}

// BenchmarkEngineMemory measures process memory, which must not grow with the request count. At a
// rate, every load lasts ten seconds and writes as many seconds to files; in a closed loop, loads
// last from 20 ms to 2 s. Each needs its own process, as in `make bench-memory`:
//
//	for n in 100000 1000000 10000000; do
//		go test -run '^$' -bench "EngineMemory/loop=rate/requests=$n\$" -benchtime 1x ./pkg/load
//	done
func BenchmarkEngineMemory(b *testing.B) {
	for _, loop := range []string{"rate", "closed"} {
		for _, n := range []int64{100_000, 1_000_000, 10_000_000} {
			step := Step{Step: workload.Step{Clients: 100, Requests: n}}
			if loop == "rate" {
				step.Rate = float64(n) / 10
			}
			b.Run(fmt.Sprintf("loop=%s/requests=%d", loop, n), func(b *testing.B) {
				for b.Loop() {
					memoryOf(b, step)
				}
			})
		}
	}
}

// memoryOf reports the resident memory when a load ends, and the part in use.
func memoryOf(b *testing.B, step Step) {
	spec := Spec{Seed: 1, Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 64}, Limits: workload.Limits{Timeout: time.Second}}}
	files, err := NewFiles(b.TempDir(), time.Now())
	if err != nil {
		b.Fatalf("records: %v", err)
	}
	rec := NewRecorder(files, spec.Operations(), nil)
	if _, err := NewEngine(spec, rec).Step(b.Context(), step, []database.Client{null{}}); err != nil {
		b.Fatalf("run the step: %v", err)
	}
	b.ReportMetric(float64(rssAnon())/1e6, "end-rss-anon-MB")
	debug.FreeOSMemory() // resident memory is in use from here on
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/1e6, "heap-after-MB")
	b.ReportMetric(float64(rssAnon())/1e6, "rss-anon-after-MB")
	if err := files.Close(); err != nil {
		b.Fatalf("records: %v", err)
	}
	runtime.KeepAlive(rec)
}

// rssAnon returns this process's resident anonymous memory in bytes, 0 if unknown.
func rssAnon() uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	status, err := self.NewStatus()
	if err != nil {
		return 0
	}
	return status.RssAnon
}
