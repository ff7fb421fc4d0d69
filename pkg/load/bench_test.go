package load

import (
	"context"
	"fmt"
	"math"
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

// BenchmarkFlush is the cost of one second's flush to files, of 50,000 requests
// with response and service latencies: it happens once a second. It is to be no
// more than 10 ms of processor time, a hundredth of a core, with four tags, which
// are two operations by two clocks.
func BenchmarkFlush(b *testing.B) {
	const rate = 50_000
	mix := []Share{{database.OpRead, 0.5}, {database.OpUpdate, 0.3}, {database.OpWrite, 0.1}, {database.OpSwap, 0.1}}
	for _, ops := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("tags=%d", 2*ops), func(b *testing.B) {
			files, err := NewFiles(b.TempDir(), time.Now())
			if err != nil {
				b.Fatal(err)
			}
			defer files.Close()
			spec := Spec{Mix: mix[:ops], Keys: 1000}
			rec := NewRecorder(files, spec.Operations(), nil)
			st, flights := steady(b, rec, spec, rate)
			rec.allocate(st)
			var busy time.Duration
			for b.Loop() {
				b.StopTimer()
				sec := rec.flushed + 1
				fill(rec, st, flights, sec)
				from := processorTime(b)
				b.StartTimer()
				rec.flush(sec, false)
				b.StopTimer()
				busy += processorTime(b) - from
				b.StartTimer()
			}
			b.ReportMetric(float64(busy.Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// fill records what a second of a step sends, with latencies of a database on a
// network: a millisecond at least, and a long tail.
func fill(rec *Recorder, st *step, flights []*flight, sec int64) {
	from := rec.fromUnix(sec)
	for i := range int64(st.Rate) {
		o, _ := st.work.op(i)
		f := flights[i%int64(len(flights))]
		due := from + i*1e9/int64(st.Rate)
		wait, tail := below(mix64(uint64(i)), 100_000), float64(below(mix64(uint64(sec+i)), 1e6)+1)/1e6
		d := &done{due: due, sent: due + wait, phase: measure, op: o}
		d.end = min(d.sent+int64(1e6-1e6*math.Log(tail)), rec.fromUnix(sec+1)-1)
		f.word.Store(packFlight(d.sent, measure, o, 0))
		rec.shardOf(int(i)).record(rec, f, d)
	}
}

// steady begins a step at a rate, without clients that run, and returns it with
// the flights of a hundred.
func steady(tb testing.TB, rec *Recorder, spec Spec, rate float64) (*step, []*flight) {
	tb.Helper()
	flights := make([]*flight, 100)
	for i := range flights {
		flights[i] = &flight{}
	}
	st := &step{Step: Step{Clients: len(flights), Rate: rate, Requests: 1 << 40}, work: mustWorkload(tb, spec, len(flights)), start: rec.now()}
	st.schedule = newSchedule(spec, st.Step)
	st.phaseEnd = [numPhases]int64{0, 1 << 62, 1 << 62}
	rec.begin(st, flights)
	return st, flights
}
