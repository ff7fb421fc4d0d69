package judging

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// unjudged is a sink that forgets everything.
type unjudged struct{}

func (unjudged) Second(load.Second) error { return nil }
func (unjudged) Total(load.Total) error   { return nil }

// last is a store that keeps only the last value for each key.
type last struct{ store }

func (l *last) Put(_ context.Context, key, value []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[string(key)] = [][]byte{append([]byte(nil), value...)}
	return nil
}

// BenchmarkEngine measures the CPU time of a request on a store in memory, without and with a
// judge. The store is the same, so the difference is the judge with its request pages.
func BenchmarkEngine(b *testing.B) {
	for _, keys := range []int64{1, 100_000} {
		for _, judging := range []bool{false, true} {
			name := "unjudged"
			if judging {
				name = "judged"
			}
			b.Run(fmt.Sprintf("keys=%d/%s", keys, name), func(b *testing.B) {
				spec := registers(false)
				spec.Keys = keys
				spec.Mix = []workload.Share{{Operation: workload.OpRead, Weight: 50}, {Operation: workload.OpUpdate, Weight: 50}}
				s := &last{store{values: map[string][][]byte{}}}
				conns := []database.Client{s, s, s, s}
				if err := load.Preload(b.Context(), spec, 100, conns, nil); err != nil {
					b.Fatal(err)
				}
				l, err := New(Options{Spec: spec, Clients: 100})
				if err != nil {
					b.Fatal(err)
				}
				var sink load.Sink = unjudged{}
				if judging {
					sink = judged{l}
				}
				rec := load.NewRecorder(sink, spec.Operations(), nil)
				engine := load.NewEngine(spec, rec)
				const requests = 500_000
				before := processorTime(b)
				for b.Loop() {
					if _, err := engine.Step(b.Context(), load.Step{Step: workload.Step{Clients: 100, Requests: requests}}, conns); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N*requests), "cpu-ns/request")
				if totals := l.Finish().Totals(); judging && (totals.Violations.All() > 0 || totals.Judged != int64(b.N*requests)) {
					b.Fatalf("an honest store: %+v", totals)
				}
			})
		}
	}
}

// processorTime returns this process's CPU time so far, in nanoseconds.
func processorTime(b *testing.B) int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return now.Nano()
}
