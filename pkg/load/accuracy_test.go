package load

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/coreos/dbtester/pkg/database"
)

// seconds is a sink that keeps what was due and sent in each second.
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

// TestDue50k: in whichever second a step begins, 50,000 are due in each.
func TestDue50k(t *testing.T) {
	const rate = 50_000
	for _, offset := range []int64{0, 1, 9_999, 10_000, 333_333_333, 999_999_999} {
		s := newSchedule(Spec{}, Step{Rate: rate, Duration: 5 * time.Second})
		before := s.dueBefore(offset)
		for sec := range int64(4) {
			now := s.dueBefore(offset + (sec+1)*1e9)
			if n := now - before; n != rate {
				t.Errorf("%d are due in the second after %d + %d s", n, offset, sec)
			}
			before = now
		}
		if all := s.dueBefore(1 << 60); all != 5*rate {
			t.Errorf("%d are due in all", all)
		}
	}
}

// BenchmarkRate50k is how exactly this machine keeps 50,000 requests a second
// for 5 s with a client that does nothing: what is due in a second is arithmetic,
// and exact to one request; what is sent in it, and how late, is measured.
//
//	go test -run '^$' -bench Rate50k -benchtime 1x ./pkg/load
func BenchmarkRate50k(b *testing.B) {
	const rate, length = 50_000, 5
	for _, clients := range []int{100, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			for b.Loop() {
				spec := Spec{Operation: database.OpWrite, KeySize: 16, ValueSize: 64, Timeout: time.Second, Drain: time.Second}
				sink := &seconds{due: map[int64]int64{}, sent: map[int64]int64{}}
				rec := NewRecorder(sink, spec.Operations(), nil)
				step := Step{Clients: clients, Rate: rate, Duration: length * time.Second}
				res, err := NewEngine(spec, rec).Step(b.Context(), step, []database.Client{null{}})
				if err != nil {
					b.Fatal(err)
				}
				reportRate(b, sink, rec, res, rate, length)
			}
		})
	}
}

// reportRate checks the arithmetic and reports what was measured.
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
		b.Errorf("%+v", t)
	}
	late := rec.Lateness()
	b.ReportMetric(most, "max-sent/due")
	b.ReportMetric(float64(late.P50)/1e3, "late-p50-us")
	b.ReportMetric(float64(late.P99)/1e3, "late-p99-us")
	b.ReportMetric(100*float64(t.Late)/float64(t.Offered), "late>1ms-%")
	b.ReportMetric(100*float64(t.Queued)/float64(t.Offered), "queued-%")
	b.ReportMetric(float64(t.Unsent), "unsent")
}

// BenchmarkEngineMemory is the memory of this process in loads of several numbers
// of requests, which it must not grow with: at a rate, all last ten seconds, so
// that as many are written to files; in a closed loop they last from a fiftieth
// of a second to two. Each wants a process of its own, as `make bench-memory`
// gives it:
//
//	for n in 100000 1000000 10000000; do
//		go test -run '^$' -bench "EngineMemory/loop=rate/requests=$n\$" -benchtime 1x ./pkg/load
//	done
func BenchmarkEngineMemory(b *testing.B) {
	for _, loop := range []string{"rate", "closed"} {
		for _, n := range []int64{100_000, 1_000_000, 10_000_000} {
			step := Step{Clients: 100, Requests: n}
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

// memoryOf reports the resident memory at the end of a load, and what of it is
// still needed then.
func memoryOf(b *testing.B, step Step) {
	spec := Spec{Seed: 1, Operation: database.OpWrite, KeySize: 16, ValueSize: 64, Timeout: time.Second}
	files, err := NewFiles(b.TempDir(), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	rec := NewRecorder(files, spec.Operations(), nil)
	if _, err := NewEngine(spec, rec).Step(b.Context(), step, []database.Client{null{}}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(rssAnon())/1e6, "end-rss-anon-MB")
	debug.FreeOSMemory() // what is resident now is needed
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapInuse)/1e6, "heap-after-MB")
	b.ReportMetric(float64(rssAnon())/1e6, "rss-anon-after-MB")
	if err := files.Close(); err != nil {
		b.Fatal(err)
	}
	runtime.KeepAlive(rec)
}

// rssAnon is the resident memory of this process that no file backs, in bytes; 0
// if that is unknown.
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
