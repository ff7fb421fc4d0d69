package load

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

type null struct{}

func (null) Put(context.Context, []byte, []byte) error { return nil }

func (null) Get(context.Context, []byte, database.ReadMode) ([]byte, error) { return nil, nil }

func (null) Close() error { return nil }

type discard struct{}

func (discard) Second(Second) error { return nil }

func (discard) Total(Total) error { return nil }

// BenchmarkEngineNull is the engine's own cost of one request, recording
// included: 16-byte keys, no value, a client that does nothing.
func BenchmarkEngineNull(b *testing.B) {
	for _, clients := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.ReportAllocs()
			spec := Spec{Operation: database.OpWrite, KeySize: 16, Timeout: time.Second}
			e := NewEngine(spec, NewRecorder(discard{}, spec.Operations(), nil))
			b.ResetTimer()
			if _, err := e.Step(b.Context(), Step{Clients: clients, Requests: int64(max(b.N, clients))}, []database.Client{null{}}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

// BenchmarkOp1KiB is the cost of making a 256-byte key and a 1 KiB value.
func BenchmarkOp1KiB(b *testing.B) {
	b.Run("key", func(b *testing.B) {
		buf := make([]byte, 0, 256)
		for i := range int64(b.N) {
			buf = appendKey(buf[:0], i, 256)
		}
	})
	b.Run("value", func(b *testing.B) {
		w := &workload{spec: Spec{Seed: 1, ValueSize: 1024}}
		buf := make([]byte, 0, 1024)
		for i := range int64(b.N) {
			buf = w.appendValue(buf[:0], i, i)
		}
	})
}

// BenchmarkFlush is the cost of one second's flush with response and service
// latencies: it happens once a second.
func BenchmarkFlush(b *testing.B) {
	spec := Spec{Operation: database.OpWrite}
	rec := NewRecorder(discard{}, spec.Operations(), nil)
	_, flights := steady(b, rec, spec)
	sec := rec.flushed + 1
	for b.Loop() {
		b.StopTimer()
		for i := range 10_000 {
			at := rec.fromUnix(sec)
			d := &done{due: at, sent: at + int64(i%1000)*1000, end: at + int64(i)*100_000, phase: measure}
			rec.shardOf(i).record(rec, flights[i%100], d)
		}
		b.StartTimer()
		rec.flush(sec, false)
		sec++
	}
}

// steady begins a step at a rate, without clients that run, and returns it with
// the flights of a hundred.
func steady(tb testing.TB, rec *Recorder, spec Spec) (*step, []*flight) {
	tb.Helper()
	flights := make([]*flight, 100)
	for i := range flights {
		flights[i] = &flight{}
	}
	st := &step{Step: Step{Clients: len(flights), Rate: 1000, Requests: 1 << 40}, work: mustWorkload(tb, spec, len(flights)), start: rec.now()}
	st.schedule = newSchedule(spec, st.Step)
	st.phaseEnd = [numPhases]int64{0, 1 << 62, 1 << 62}
	rec.begin(st, flights)
	return st, flights
}
