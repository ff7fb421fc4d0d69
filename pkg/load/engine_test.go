package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// memory is a Sink that keeps everything.
type memory struct {
	rows   []results.Interval
	ticks  []results.Progress
	errors []results.ErrorCount
	totals map[results.Series]int64 // counts
	quant  map[results.Series]func(q float64) int64
	lines  map[results.Series]int64
	err    error
}

func newMemory() *memory {
	return &memory{totals: map[results.Series]int64{}, lines: map[results.Series]int64{}, quant: map[results.Series]func(float64) int64{}}
}

func (m *memory) Second(s Second) error {
	m.rows = append(m.rows, s.Intervals...)
	m.ticks = append(m.ticks, s.Progress...)
	m.errors = append(m.errors, s.Errors...)
	for _, l := range s.Latencies {
		m.lines[l.Series] += l.Histogram.TotalCount()
	}
	return m.err
}

func (m *memory) Total(t Total) error {
	m.totals[t.Series] += t.Histogram.TotalCount()
	h := histogram.New()
	h.Merge(t.Histogram)
	m.quant[t.Series] = func(q float64) int64 { return histogram.Quantile(h, q) }
	return nil
}

// sums adds up the rows.
func (m *memory) sums() (t results.Totals) {
	for _, r := range m.rows {
		t.Offered += r.Due
		t.Sent += r.Sent
		t.OK += r.OK
		t.Failed += r.Failed
		t.Unknown += r.Unknown
		t.Shed += r.Shed
		t.Unsent += r.Unsent
		t.Queued += r.Queued
		t.Late += r.Late
		t.BytesWritten += r.WrittenBytes
	}
	return t
}

// tickSums adds up tick rows.
func (m *memory) tickSums() (sum results.Progress) {
	for _, p := range m.ticks {
		sum.Due += p.Due
		sum.OK += p.OK
		sum.Failed += p.Failed
		sum.Unknown += p.Unknown
		sum.Shed += p.Shed
		sum.Unsent += p.Unsent
	}
	return sum
}

// tickTotals returns the totals that tick rows have.
func tickTotals(t results.Totals) results.Progress {
	return results.Progress{Due: t.Offered, OK: t.OK, Failed: t.Failed, Unknown: t.Unknown, Shed: t.Shed, Unsent: t.Unsent}
}

// script is a client whose calls run a function.
type script func(ctx context.Context, key, value []byte) error

func (s script) Put(ctx context.Context, key, value []byte) error { return s(ctx, key, value) }

func (s script) Get(ctx context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	return nil, s(ctx, key, nil)
}

func (s script) Close() error { return nil }

func writes() Spec {
	return Spec{Seed: 1, Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 32}, Limits: workload.Limits{Timeout: time.Second, Drain: time.Second}}}
}

// run runs one step on one scripted client.
func run(t *testing.T, ctx context.Context, spec Spec, s Step, client script) (*memory, *Recorder, StepResult, error) {
	t.Helper()
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	res, err := NewEngine(spec, rec).Step(ctx, s, []database.Client{client})
	if got, want := sink.sums(), rec.Totals(); !cmp.Equal(got, want) {
		t.Errorf("rows must sum to the totals: %s", cmp.Diff(want, got))
	}
	if got, want := sink.tickSums(), tickTotals(rec.Totals()); !cmp.Equal(got, want) {
		t.Errorf("the rows of ticks must sum to the totals: %s", cmp.Diff(want, got))
	}
	if !rec.Totals().Reconcile() {
		t.Errorf("counts must reconcile, got %+v", rec.Totals())
	}
	return sink, rec, res, err
}

func TestClosedLoopCountsEveryRequest(t *testing.T) {
	var keys sync.Map
	var calls atomic.Int64
	sink, rec, res, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 50, Requests: 20_000}},
		func(_ context.Context, key, value []byte) error {
			calls.Add(1)
			if len(key) != 16 || len(value) != 32 {
				return fmt.Errorf("key of %d and value of %d bytes", len(key), len(value))
			}
			if _, again := keys.LoadOrStore(string(key), true); again {
				return fmt.Errorf("key %s twice", key)
			}
			return nil
		})
	if err != nil {
		t.Fatalf("run the step: %v", err)
	}
	want := results.Totals{Offered: 20_000, Sent: 20_000, OK: 20_000, BytesWritten: 20_000 * 48}
	if got := rec.Totals(); got != want {
		t.Errorf("totals: %s", cmp.Diff(want, got))
	}
	if calls.Load() != 20_000 || res.Requests != 20_000 {
		t.Errorf("%d calls, %d request numbers, want 20000", calls.Load(), res.Requests)
	}
	series := results.Series{Timing: results.TimingService, Operation: "write", Phase: results.PhaseMeasure}
	if sink.totals[series] != 20_000 || sink.lines[series] != 20_000 {
		t.Errorf("histograms hold %d in total and %d in lines, want 20000", sink.totals[series], sink.lines[series])
	}
	if last := sink.rows[len(sink.rows)-1]; last.KeysCumulative != 20_000 || last.InFlight != 0 || last.Backlog != 0 {
		t.Errorf("last row %+v, want 20000 keys and empty gauges", last)
	}
}

// TestStall is the reason for this engine: 100 requests per second for 10 seconds
// on one client, and a database that stalls for one second. Every request that the
// stall delayed must show it in its response time, in flight or waiting.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var frozen atomic.Bool
		sink, rec, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 1, Requests: 1000, Rate: 100}},
			func(context.Context, []byte, []byte) error {
				if time.Since(start) >= 5*time.Second && !frozen.Swap(true) {
					time.Sleep(time.Second)
				}
				return nil
			})
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got := rec.Totals(); got.OK != 1000 || got.Queued < 98 || got.Queued > 101 {
			t.Errorf("totals %+v, want 1000 ok and about 100 queued", got)
		}
		series := results.Series{Timing: results.TimingResponse, Operation: "write", Phase: results.PhaseMeasure}
		q := sink.quant[series]
		// Due times 10 ms apart wait 1000, 990, ... 10 ms: 10 % of 1000 requests waited,
		// uniformly up to a second.
		for _, c := range []struct {
			q        float64
			want, by time.Duration
		}{{0.5, 0, time.Millisecond}, {0.95, 510 * time.Millisecond, 15 * time.Millisecond}, {0.99, 910 * time.Millisecond, 15 * time.Millisecond}, {1, time.Second, 15 * time.Millisecond}} {
			if got := time.Duration(q(c.q)); (got - c.want).Abs() > c.by {
				t.Errorf("response p%v = %v, want %v", c.q*100, got, c.want)
			}
		}
	})
}

func TestRateIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, _, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 20, Duration: 5 * time.Second, Rate: 1234}},
			func(context.Context, []byte, []byte) error { time.Sleep(3 * time.Millisecond); return nil })
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		for n, r := range sink.rows[1 : len(sink.rows)-1] {
			if r.Due < 1233 || r.Due > 1235 || r.Sent < 1200 {
				t.Errorf("second %d: due %d, sent %d, want 1234", n+1, r.Due, r.Sent)
			}
		}
		if got := sink.sums(); got.Offered != 6170 || got.OK != 6170 {
			t.Errorf("%+v, want 6170 ok", got)
		}
	})
}

// TestFirstRequestIsNotQueued: request 0 is due when the step starts, and a free
// client waits for it as for any other request.
func TestFirstRequestIsNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rec, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 5, Requests: 100, Rate: 100}},
			func(context.Context, []byte, []byte) error { return nil })
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got, want := rec.Totals(), (results.Totals{Offered: 100, Sent: 100, OK: 100, BytesWritten: 100 * 48}); got != want || rec.Lateness().N != 100 {
			t.Errorf("%+v with %d latenesses, want nothing queued", got, rec.Lateness().N)
		}
	})
}

// TestSentIsCountedOnce: a request is sent and ends before, between and after flushing the second
// in which its client read the clock.
func TestSentIsCountedOnce(t *testing.T) {
	spec := writes()
	work, err := spec.sequence(1)
	if err != nil {
		t.Fatalf("make the sequence: %v", err)
	}
	for name, script := range map[string][]string{
		"ended before":                       {"send", "end", "flush"},
		"in flight":                          {"send", "flush", "end", "flush"},
		"in flight for long":                 {"send", "flush", "flush", "flush", "end", "flush"},
		"descheduled, ended before the next": {"flush", "send", "end", "flush"},
		"descheduled, in flight at the next": {"flush", "send", "flush", "end", "flush"},
	} {
		rec := NewRecorder(newMemory(), spec.Operations(), nil)
		st := &plan{Step: Step{Step: workload.Step{Clients: 1, Requests: 1}}, work: work, start: rec.clock.Now(), schedule: newSchedule(spec, Step{Step: workload.Step{Requests: 1}})}
		f := &flight{}
		rec.begin(st, []*flight{f})
		sec := rec.flusher.flushed + 1
		sent := rec.clock.SecondStart(sec)
		for _, do := range script {
			switch do {
			case "send":
				f.word.Store(packFlight(sent, measure, 0, 0))
			case "end":
				rec.shards.of(0).record(f, &done{due: sent, sent: sent, end: rec.clock.SecondStart(rec.flusher.flushed+1) + 1, phase: measure})
			case "flush":
				rec.flusher.flush(rec.flusher.flushed + 1)
			}
		}
		if got, want := rec.Totals(), (results.Totals{Offered: 1, Sent: 1, OK: 1}); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
}

func TestTimeoutEndsACallAndTheClientContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Timeout = 20 * time.Millisecond
		var calls atomic.Int64
		sink, rec, _, err := run(t, t.Context(), spec, Step{Step: workload.Step{Clients: 4, Requests: 200}},
			func(ctx context.Context, _, _ []byte) error {
				if _, ok := ctx.Deadline(); !ok {
					return errors.New("no deadline")
				}
				if calls.Add(1)%50 == 0 {
					<-ctx.Done()
					return ctx.Err()
				}
				return ctx.Err()
			})
		if err != nil {
			t.Fatalf("run the step: %v", err)
		}
		if got := rec.Totals(); got.OK != 196 || got.Unknown != 4 {
			t.Errorf("totals %+v, want 196 ok and 4 unknown", got)
		}
		var n int64
		for _, e := range sink.errors {
			if e.Class != string(database.ClassTimeout) {
				t.Errorf("error class %q, want a time-out", e.Class)
			}
			n += e.Count
		}
		if n != 4 {
			t.Errorf("%d errors recorded, want 4", n)
		}
	})
}

func TestShedAndUnsent(t *testing.T) {
	slow := func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil }
	t.Run("shed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			spec := writes()
			spec.Backlog = workload.BacklogShed
			_, rec, _, err := run(t, t.Context(), spec, Step{Step: workload.Step{Clients: 1, Requests: 100, Rate: 100}}, slow)
			if err != nil {
				t.Fatalf("run the step: %v", err)
			}
			if got := rec.Totals(); got.Offered != 100 || got.Shed < 85 || got.Unsent != 0 {
				t.Errorf("%+v, want about 90 of 100 shed", got)
			}
		})
	})
	t.Run("unsent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, rec, _, err := run(t, t.Context(), writes(), Step{Step: workload.Step{Clients: 1, Requests: 100, Rate: 100}}, slow)
			if err != nil {
				t.Fatalf("run the step: %v", err)
			}
			if got := rec.Totals(); got.Offered != 100 || got.OK < 19 || got.OK > 21 || got.Unsent != 100-got.OK {
				t.Errorf("%+v, want 20 sent in one second of load and one of drain", got)
			}
		})
	})
}

// A rate far above the database throughput leaves billions of requests unsent; they are counted at
// once, each in its phase.
func TestUnsentAtOnce(t *testing.T) {
	for name, step := range map[string]Step{
		"rate":    {Step: workload.Step{Clients: 2, Duration: 3 * time.Second, Rate: 1e9}},
		"ramp":    {Step: workload.Step{Clients: 2, Duration: 3 * time.Second, Rate: 1e8, RateEnd: 1e9}},
		"poisson": {Step: workload.Step{Clients: 2, Duration: 3 * time.Second, Rate: 1e6}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.Drain = time.Second
				if name == "poisson" {
					spec.Arrival = workload.ArrivalPoisson
				}
				_, rec, _, err := run(t, t.Context(), spec, step, func(context.Context, []byte, []byte) error {
					time.Sleep(100 * time.Millisecond)
					return nil
				})
				if err != nil {
					t.Fatalf("run the step: %v", err)
				}
				if got := rec.Totals(); got.Offered < 2_900_000 || got.Unsent != got.Offered-got.Sent || got.Sent > 100 {
					t.Errorf("%+v, want all requests that were offered but some 80 unsent", got)
				}
			})
		})
	}
}

func TestInterrupt(t *testing.T) {
	for _, rate := range []float64{0, 500} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("interrupted")
			time.AfterFunc(2500*time.Millisecond, func() { cancel(why) })
			_, rec, res, err := run(t, ctx, writes(), Step{Step: workload.Step{Clients: 10, Requests: 1 << 40, Rate: rate}},
				func(context.Context, []byte, []byte) error { time.Sleep(10 * time.Millisecond); return nil })
			if !errors.Is(err, why) {
				t.Errorf("error %v, want %v", err, why)
			}
			got := rec.Totals()
			if got.OK < 1200 || got.OK > 2600 || got.OK != got.Offered {
				t.Errorf("rate %v: counts %+v, want all that was offered ok, for 2.5 s", rate, got)
			}
			if d := res.IssueEnd.Sub(res.Start); d > 2501*time.Millisecond {
				t.Errorf("requests were issued for %v, want until the interrupt at 2.5 s", d)
			}
		})
	}
}

// TestReconcile runs loads with random operations, delays, errors, time-outs and interrupts. The
// counts must add up, and equal those from the client and from a second schedule.
func TestReconcile(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			spec := writes()
			if rng.IntN(2) == 0 {
				spec.Backlog = workload.BacklogShed
			}
			if rng.IntN(2) == 0 {
				spec.Arrival = workload.ArrivalPoisson
			}
			spec.Timeout = time.Duration(1+rng.IntN(50)) * time.Millisecond
			spec.WarmUp = time.Duration(rng.IntN(1500)) * time.Millisecond
			if rng.IntN(2) == 0 {
				spec.Mix, spec.Keys = []workload.Share{{Operation: workload.OpWrite, Weight: 0.3}, {Operation: workload.OpUpdate, Weight: 0.7}}, 100
			}
			step := Step{Step: workload.Step{Clients: 1 + rng.IntN(40), Requests: int64(1 + rng.IntN(5000))}}
			if rng.IntN(2) == 0 {
				step.Rate = float64(1 + rng.IntN(3000))
			}
			if rng.IntN(2) == 0 {
				step.Duration = time.Duration(100+rng.IntN(3000)) * time.Millisecond
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rng.IntN(3) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(2000))*time.Millisecond, cancel)
			}
			var mu sync.Mutex
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
			var calls atomic.Int64
			sink, rec, res, err := run(t, ctx, spec, step, func(ctx context.Context, _, _ []byte) error {
				calls.Add(1)
				select {
				case <-time.After(time.Duration(1+draw(20_000)) * time.Microsecond):
				case <-ctx.Done():
					return ctx.Err()
				}
				if draw(10) == 0 {
					return database.NotApplied(database.ClassThrottled, errors.New("busy"))
				}
				return nil
			})
			var histograms, errs int64
			for s, n := range sink.totals {
				if s.Timing == results.TimingService {
					histograms += n
				}
			}
			for _, e := range sink.errors {
				errs += e.Count
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("seed %d: %v", seed, err)
			}
			got, offered := rec.Totals(), calls.Load()
			if step.Rate > 0 {
				offered, _ = newSchedule(spec, step).Due(int64(res.IssueEnd.Sub(res.Start)))
			}
			if got.Sent != calls.Load() || got.Offered != offered {
				t.Errorf("seed %d: counts %+v, want %d sent and %d offered", seed, got, calls.Load(), offered)
			}
			if histograms != got.Sent || errs != got.Failed+got.Unknown {
				t.Errorf("seed %d: counts %+v, but histograms have %d requests and %d errors are recorded", seed, got, histograms, errs)
			}
		})
	}
}

func TestStepsContinueKeys(t *testing.T) {
	var seen sync.Map
	client := script(func(_ context.Context, key, _ []byte) error { seen.Store(string(key), true); return nil })
	sink := newMemory()
	rec := NewRecorder(sink, []workload.Op{workload.OpWrite}, nil)
	e := NewEngine(writes(), rec)
	for i, clients := range []int{1, 10} {
		if _, err := e.Step(t.Context(), Step{Index: i, Step: workload.Step{Clients: clients, Requests: 100}}, []database.Client{client}); err != nil {
			t.Fatalf("run the step: %v", err)
		}
	}
	for i := range 200 {
		if _, ok := seen.Load(fmt.Sprintf("%016d", i)); !ok {
			t.Fatalf("key %d was not written, want two steps to write keys 0 to 199", i)
		}
	}
}

// TestForget: client delays in earlier steps are forgotten, and the counts continue.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := script(func(context.Context, []byte, []byte) error { return nil })
		rec := NewRecorder(newMemory(), []workload.Op{workload.OpWrite}, nil)
		e := NewEngine(writes(), rec)
		lags := int64(0)
		for i := range 2 {
			if _, err := e.Step(t.Context(), Step{Index: i, Step: workload.Step{Clients: 3, Requests: 100, Rate: 100}}, []database.Client{client}); err != nil {
				t.Fatalf("run the step: %v", err)
			}
			if n := rec.Lateness().N; n != 100 || rec.Totals().OK != int64(100*(i+1)) {
				t.Errorf("step %d: %d latenesses of %d requests, want 100 of the step", i, n, rec.Totals().OK)
			}
			if lag := rec.SchedulingLag().N; lag == 0 || i > 0 && lag > lags+lags/2 {
				t.Errorf("step %d: %d samples of the lag after %d, want those of the step", i, lag, lags)
			}
			lags = rec.SchedulingLag().N
			rec.Forget()
		}
		if rec.Lateness().N != 0 || rec.SchedulingLag().N != 0 || rec.Stops().N != 0 {
			t.Errorf("after Forget: %+v, %+v, %+v", rec.Lateness(), rec.SchedulingLag(), rec.Stops())
		}
	})
}

func TestSinkErrorIsReturnedAtTheEnd(t *testing.T) {
	sink := newMemory()
	sink.err = errors.New("no space left")
	rec := NewRecorder(sink, []workload.Op{workload.OpWrite}, nil)
	_, err := NewEngine(writes(), rec).Step(t.Context(), Step{Step: workload.Step{Clients: 1, Requests: 10}},
		[]database.Client{script(func(context.Context, []byte, []byte) error { return nil })})
	if !errors.Is(err, sink.err) || rec.Totals().OK != 10 {
		t.Errorf("error %v, counts %+v, want %v and a complete load", err, rec.Totals(), sink.err)
	}
}
