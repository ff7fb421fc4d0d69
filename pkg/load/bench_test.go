package load

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

type null struct{}

func (null) Put(context.Context, []byte, []byte) error { return nil }

func (null) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) { return nil, nil }

func (null) Close() error { return nil }

type discard struct{}

func (discard) Second(Second) error { return nil }

func (discard) Total(Total) error { return nil }

// BenchmarkEngineNull measures what one request costs the engine itself, with recording: 16-byte
// keys, no value, an idle client.
func BenchmarkEngineNull(b *testing.B) { benchmarkEngine(b, discard{}) }

func benchmarkEngine(b *testing.B, sink Sink) {
	for _, clients := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			b.ReportAllocs()
			spec := Spec{Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16}, Limits: workload.Limits{Timeout: time.Second}}}
			e := NewEngine(spec, NewRecorder(sink, spec.Operations(), nil))
			b.ResetTimer()
			if _, err := e.Step(b.Context(), Step{Step: workload.Step{Clients: clients, Requests: int64(max(b.N, clients))}}, []database.Client{null{}}); err != nil {
				b.Fatalf("run the step: %v", err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
		})
	}
}

// observes is an observer that keeps nothing.
type observes struct{ discard }

func (observes) Observe([]Ended, int64) error { return nil }

// BenchmarkEngineObserved is BenchmarkEngineNull with an observer.
func BenchmarkEngineObserved(b *testing.B) { benchmarkEngine(b, observes{}) }

// BenchmarkFlush measures one second's flush to files, for 50,000 requests with response and
// service latencies, from three members and with 100 ms rows. With eight tags (four operations by
// two clocks) it must take at most 10 ms of CPU time, a hundredth of a core.
func BenchmarkFlush(b *testing.B) {
	const rate = 50_000
	mix := []workload.Share{{Operation: workload.OpRead, Weight: 0.5}, {Operation: workload.OpUpdate, Weight: 0.3}, {Operation: workload.OpWrite, Weight: 0.1}, {Operation: workload.OpSwap, Weight: 0.1}}
	for _, ops := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("tags=%d", 2*ops), func(b *testing.B) {
			files, err := NewFiles(b.TempDir(), time.Now())
			if err != nil {
				b.Fatalf("records: %v", err)
			}
			defer files.Close()
			spec := Spec{Load: workload.Load{Content: workload.Content{Mix: mix[:ops]}, Keyspace: workload.Keyspace{Keys: 1000}}}
			rec := NewRecorder(files, spec.Operations(), nil)
			st, flights := steady(b, rec, spec, rate)
			rec.allocate(&st.plan)
			var busy time.Duration
			for b.Loop() {
				b.StopTimer()
				sec := rec.flusher.flushed + 1
				fill(rec, st, flights, sec)
				from := processorTime(b)
				b.StartTimer()
				rec.flusher.flush(sec)
				b.StopTimer()
				busy += processorTime(b) - from
				b.StartTimer()
			}
			b.ReportMetric(float64(busy.Nanoseconds())/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// fill records the requests of a second with latencies like those from a database on a network: at
// least a millisecond, with a long tail.
func fill(rec *Recorder, st *step, flights []*flight, sec int64) {
	from := rec.clock.SecondStart(sec)
	for i := range int64(st.Rate) {
		o := st.work.Op(i)
		f := flights[i%int64(len(flights))]
		due := from + i*1e9/int64(st.Rate)
		wait, tail := int64(requests.Mix64(uint64(i))%100_000), float64(requests.Mix64(uint64(sec+i))%1e6+1)/1e6
		d := &done{due: due, sent: due + wait, phase: measure, op: o, member: int(i % 3)}
		d.end = min(d.sent+int64(1e6-1e6*math.Log(tail)), rec.clock.SecondStart(sec+1)-1)
		f.word.Store(packFlight(d.sent, measure, o, 0))
		rec.shards.of(int(i)).record(f, d)
	}
}

// steady begins a step at a rate and returns it with the flights for a hundred clients, which do
// not run.
func steady(tb testing.TB, rec *Recorder, spec Spec, rate float64) (*step, []*flight) {
	tb.Helper()
	flights := make([]*flight, 100)
	for i := range flights {
		flights[i] = &flight{}
	}
	work, err := spec.sequence(len(flights))
	if err != nil {
		tb.Fatalf("make a sequence: %v", err)
	}
	st := &step{plan: plan{Step: Step{Step: workload.Step{Clients: len(flights), Rate: rate, Requests: 1 << 40}}, work: work, start: rec.clock.Now()}}
	st.schedule = newSchedule(spec, st.Step)
	st.phaseEnd = [numPhases]int64{0, 1 << 62, 1 << 62}
	rec.begin(&st.plan, flights)
	return st, flights
}
