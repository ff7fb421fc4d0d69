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
)

// memory is a Sink that keeps everything.
type memory struct {
	rows   []results.Interval
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
	m.errors = append(m.errors, s.Errors...)
	for _, l := range s.Latencies {
		m.lines[l.Series] += l.Histogram.TotalCount()
	}
	return m.err
}

func (m *memory) Total(t Total) error {
	m.totals[t.Series] += t.Histogram.TotalCount()
	h := results.NewHistogram()
	h.Merge(t.Histogram)
	m.quant[t.Series] = func(q float64) int64 { return results.Quantile(h, q) }
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
	}
	return t
}

// script is a client whose calls do what a function says.
type script func(ctx context.Context, key, value []byte) error

func (s script) Put(ctx context.Context, key, value []byte) error { return s(ctx, key, value) }

func (s script) Get(ctx context.Context, key []byte, _ database.ReadMode) ([]byte, error) {
	return nil, s(ctx, key, nil)
}

func (s script) Close() error { return nil }

func writes() Spec {
	return Spec{Seed: 1, Operation: database.OpWrite, KeySize: 16, ValueSize: 32, Timeout: time.Second, Drain: time.Second}
}

// run runs one step on one scripted client.
func run(t *testing.T, ctx context.Context, spec Spec, s Step, client script) (*memory, *Recorder, StepResult, error) {
	t.Helper()
	sink := newMemory()
	rec := NewRecorder(sink, spec.Operations(), nil)
	res, err := NewEngine(spec, rec).Step(ctx, s, []database.Client{client})
	if got, want := sink.sums(), rec.Totals(); !cmp.Equal(got, want) {
		t.Errorf("rows do not sum to the totals: %s", cmp.Diff(want, got))
	}
	if !rec.Totals().Reconcile() {
		t.Errorf("counts do not reconcile: %+v", rec.Totals())
	}
	return sink, rec, res, err
}

func TestClosedLoopCountsEveryRequest(t *testing.T) {
	var keys sync.Map
	var calls atomic.Int64
	sink, rec, res, err := run(t, t.Context(), writes(), Step{Clients: 50, Requests: 20_000},
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
		t.Fatal(err)
	}
	want := results.Totals{Offered: 20_000, Sent: 20_000, OK: 20_000}
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
		t.Errorf("last row %+v", last)
	}
}

// TestStall is the reason for this engine: 100 requests a second for 10 seconds
// on one client, and a database that stops for one second. What the stall held up
// must be seen in response times, whether it was in flight or waiting.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var frozen atomic.Bool
		sink, rec, _, err := run(t, t.Context(), writes(), Step{Clients: 1, Requests: 1000, Rate: 100},
			func(context.Context, []byte, []byte) error {
				if time.Since(start) >= 5*time.Second && !frozen.Swap(true) {
					time.Sleep(time.Second)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Totals(); got.OK != 1000 || got.Queued < 98 || got.Queued > 101 {
			t.Errorf("totals %+v, want 1000 ok and about 100 queued", got)
		}
		series := results.Series{Timing: results.TimingResponse, Operation: "write", Phase: results.PhaseMeasure}
		q := sink.quant[series]
		// Due times 10 ms apart wait 1000, 990, ... 10 ms: of 1000 requests 10 % waited,
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
		sink, _, _, err := run(t, t.Context(), writes(), Step{Clients: 20, Duration: 5 * time.Second, Rate: 1234},
			func(context.Context, []byte, []byte) error { time.Sleep(3 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
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
// client waits for it like for any other.
func TestFirstRequestIsNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, rec, _, err := run(t, t.Context(), writes(), Step{Clients: 5, Requests: 100, Rate: 100},
			func(context.Context, []byte, []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if got, want := rec.Totals(), (results.Totals{Offered: 100, Sent: 100, OK: 100}); got != want || rec.Lateness().N != 100 {
			t.Errorf("%+v with %d latenesses, want nothing queued", got, rec.Lateness().N)
		}
	})
}

// TestSentIsCountedOnce: whenever a goroutine takes off and ends around the flush of
// the second in which it read the clock.
func TestSentIsCountedOnce(t *testing.T) {
	spec := writes()
	work, err := newWorkload(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string][]string{
		"ended before":                   {"off", "end", "flush"},
		"in flight":                      {"off", "flush", "end", "flush"},
		"in flight for long":             {"off", "flush", "flush", "flush", "end", "flush"},
		"held up, ended before the next": {"flush", "off", "end", "flush"},
		"held up, in flight at the next": {"flush", "off", "flush", "end", "flush"},
	} {
		rec := NewRecorder(newMemory(), spec.Operations(), nil)
		st := &step{Step: Step{Clients: 1, Requests: 1}, work: work, start: rec.now(), schedule: &closedLoop{n: 1}}
		f := &flight{}
		rec.begin(st, []*flight{f})
		sec := rec.flushed + 1
		sent := rec.fromUnix(sec)
		for _, do := range script {
			switch do {
			case "off":
				f.word.Store(packFlight(sent, measure, 0, 0))
			case "end":
				rec.shardOf(0).record(rec, f, &done{due: sent, sent: sent, end: rec.fromUnix(rec.flushed+1) + 1, phase: measure})
			case "flush":
				rec.flush(rec.flushed+1, false)
			}
		}
		if got, want := rec.Totals(), (results.Totals{Offered: 1, Sent: 1, OK: 1}); got != want {
			t.Errorf("%s: %s", name, cmp.Diff(want, got))
		}
	}
}

func TestPoissonMeanAndSeed(t *testing.T) {
	spec := writes()
	spec.Poisson = true
	var due [2][]int64
	for n := range due {
		s := newSchedule(spec, Step{Clients: 1, Requests: 100_000, Rate: 1000})
		for {
			_, at, ok := s.next()
			if !ok {
				break
			}
			due[n] = append(due[n], at)
		}
		if got := s.dueBefore(due[n][5000]); got != 5000 {
			t.Errorf("dueBefore counts %d requests before request 5000", got)
		}
	}
	if !cmp.Equal(due[0], due[1]) {
		t.Error("the same seed gave different arrivals")
	}
	mean := float64(due[0][len(due[0])-1]) / float64(len(due[0]))
	if mean < 0.98e6 || mean > 1.02e6 {
		t.Errorf("mean gap %v ns, want a millisecond within 2 %%", mean)
	}
}

func TestTimeoutEndsACallAndTheClientGoesOn(t *testing.T) {
	spec := writes()
	spec.Timeout = 20 * time.Millisecond
	var calls atomic.Int64
	sink, rec, _, err := run(t, t.Context(), spec, Step{Clients: 4, Requests: 200},
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
		t.Fatal(err)
	}
	if got := rec.Totals(); got.OK != 196 || got.Unknown != 4 {
		t.Errorf("totals %+v, want 196 ok and 4 unknown", got)
	}
	var n int64
	for _, e := range sink.errors {
		if e.Class != string(database.ClassTimeout) {
			t.Errorf("class %q", e.Class)
		}
		n += e.Count
	}
	if n != 4 {
		t.Errorf("%d errors recorded, want 4", n)
	}
}

func TestShedAndUnsent(t *testing.T) {
	slow := func(context.Context, []byte, []byte) error { time.Sleep(100 * time.Millisecond); return nil }
	t.Run("shed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			spec := writes()
			spec.Shed = true
			_, rec, _, err := run(t, t.Context(), spec, Step{Clients: 1, Requests: 100, Rate: 100}, slow)
			if err != nil {
				t.Fatal(err)
			}
			if got := rec.Totals(); got.Offered != 100 || got.Shed < 85 || got.Unsent != 0 {
				t.Errorf("%+v, want about 90 of 100 shed", got)
			}
		})
	})
	t.Run("unsent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, rec, _, err := run(t, t.Context(), writes(), Step{Clients: 1, Requests: 100, Rate: 100}, slow)
			if err != nil {
				t.Fatal(err)
			}
			if got := rec.Totals(); got.Offered != 100 || got.OK < 19 || got.OK > 21 || got.Unsent != 100-got.OK {
				t.Errorf("%+v, want 20 sent in one second of load and one of drain", got)
			}
		})
	})
}

func TestInterrupt(t *testing.T) {
	for _, rate := range []float64{0, 500} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("interrupted")
			time.AfterFunc(2500*time.Millisecond, func() { cancel(why) })
			_, rec, res, err := run(t, ctx, writes(), Step{Clients: 10, Requests: 1 << 40, Rate: rate},
				func(context.Context, []byte, []byte) error { time.Sleep(10 * time.Millisecond); return nil })
			if !errors.Is(err, why) {
				t.Errorf("error %v, want %v", err, why)
			}
			got := rec.Totals()
			if got.OK < 1200 || got.OK > 2600 || got.OK != got.Offered {
				t.Errorf("rate %v: %+v", rate, got)
			}
			if d := res.IssueEnd.Sub(res.Start); d > 2501*time.Millisecond {
				t.Errorf("issued for %v after an interrupt at 2.5 s", d)
			}
		})
	}
}

// TestReconcile runs loads with random operations, delays, errors, time-outs and
// interrupts: run checks that every request is counted once, and the client and a
// schedule of its own are asked how many there were.
func TestReconcile(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			spec := writes()
			spec.Shed, spec.Poisson = rng.IntN(2) == 0, rng.IntN(2) == 0
			spec.Timeout = time.Duration(1+rng.IntN(50)) * time.Millisecond
			spec.WarmUp = time.Duration(rng.IntN(1500)) * time.Millisecond
			if rng.IntN(2) == 0 {
				spec.Mix, spec.Keys = []Share{{database.OpWrite, 0.3}, {database.OpUpdate, 0.7}}, 100
			}
			step := Step{Clients: 1 + rng.IntN(40), Requests: int64(1 + rng.IntN(5000))}
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
				case <-time.After(time.Duration(draw(20_000)) * time.Microsecond):
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
				offered = newSchedule(spec, step).dueBefore(int64(res.IssueEnd.Sub(res.Start)))
			}
			if got.Sent != calls.Load() || got.Offered != offered {
				t.Errorf("seed %d: %+v, but %d were called and %d offered", seed, got, calls.Load(), offered)
			}
			if histograms != got.Sent || errs != got.Failed+got.Unknown {
				t.Errorf("seed %d: %+v, but %d in histograms and %d errors", seed, got, histograms, errs)
			}
		})
	}
}

func TestStepsContinueKeys(t *testing.T) {
	var seen sync.Map
	client := script(func(_ context.Context, key, _ []byte) error { seen.Store(string(key), true); return nil })
	sink := newMemory()
	rec := NewRecorder(sink, []database.Op{database.OpWrite}, nil)
	e := NewEngine(writes(), rec)
	for i, clients := range []int{1, 10} {
		if _, err := e.Step(t.Context(), Step{Index: i, Clients: clients, Requests: 100}, []database.Client{client}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		if _, ok := seen.Load(fmt.Sprintf("%016d", i)); !ok {
			t.Fatalf("key %d was not written", i)
		}
	}
}

func TestSinkErrorIsToldAtTheEnd(t *testing.T) {
	sink := newMemory()
	sink.err = errors.New("no space left")
	rec := NewRecorder(sink, []database.Op{database.OpWrite}, nil)
	_, err := NewEngine(writes(), rec).Step(t.Context(), Step{Clients: 1, Requests: 10},
		[]database.Client{script(func(context.Context, []byte, []byte) error { return nil })})
	if !errors.Is(err, sink.err) || rec.Totals().OK != 10 {
		t.Errorf("error %v, totals %+v", err, rec.Totals())
	}
}

func TestValuesAreUniqueAndExact(t *testing.T) {
	w := &workload{spec: Spec{Seed: 7, ValueSize: 37}}
	seen := map[string]bool{}
	for i := range int64(10_000) {
		v := w.appendValue(nil, i, i)
		if len(v) != 37 || seen[string(v)] {
			t.Fatalf("value %d: %d bytes, repeated %v", i, len(v), seen[string(v)])
		}
		seen[string(v)] = true
	}
	for size := range 300 {
		want := fmt.Sprintf("%0*d", size, 12345)
		if got := string(appendKey(nil, 12345, size)); got != want {
			t.Fatalf("key of size %d: %q, want %q", size, got, want)
		}
	}
}
