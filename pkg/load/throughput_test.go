package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// recordedStep is a step written to files and summed up from them, as in a report, and when its ok
// requests ended by the clock of the test.
type recordedStep struct {
	*results.Summary
	step     results.Step
	progress []results.Progress
	from, to time.Duration // the measured window, after the step starts
	ended    []time.Duration
}

// recordStep runs a step whose requests call a function.
func recordStep(t *testing.T, ctx context.Context, dir string, spec Spec, s Step, call func(ctx context.Context) error) recordedStep {
	t.Helper()
	files, err := NewFiles(dir, time.Now())
	if err != nil {
		t.Fatalf("open the records: %v", err)
	}
	var mu sync.Mutex
	var ended []time.Time
	rec := NewRecorder(files, spec.Operations(), nil)
	res, err := NewEngine(spec, rec).Step(ctx, s, []database.Client{script(func(ctx context.Context, _, _ []byte) error {
		err := call(ctx)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, time.Now())
		}
		return err
	})})
	if err != nil && ctx.Err() == nil {
		t.Fatalf("run the step: %v", err)
	}
	if err := files.Close(); err != nil {
		t.Fatalf("close the records: %v", err)
	}
	run := &results.DatabaseRun{Load: results.Load{Load: spec.Load}, Steps: []results.Step{{
		Step: s.Step, Start: res.Start, End: res.End, IssueEnd: res.IssueEnd, LargestGap: res.LargestGap,
	}}}
	out := recordedStep{step: run.Steps[0]}
	if out.Summary, err = results.Summarize(dir, run); err != nil {
		t.Fatalf("sum up: %v", err)
	}
	if out.progress, err = results.ReadProgress(filepath.Join(dir, results.FileProgress)); err != nil {
		t.Fatalf("read the progress: %v", err)
	}
	from, to := run.Measured(run.Steps[0])
	out.from, out.to = from.Sub(res.Start), to.Sub(res.Start)
	for _, at := range ended {
		out.ended = append(out.ended, at.Sub(res.Start))
	}
	return out
}

// inside counts the requests that ended in the window, by the test clock.
func (r *recordedStep) inside() (n int64) {
	for _, at := range r.ended {
		if at >= r.from && at < r.to {
			n++
		}
	}
	return n
}

// within fails unless a rate is within 2 % of a wanted one.
func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < 0.98*want || got > 1.02*want {
		t.Errorf("%s = %.1f requests per second, want %.1f within 2 %%", what, got, want)
	}
}

// server answers one request at a time, each after a while.
type server struct {
	turn  chan struct{} // a mutex would keep the time in a bubble from passing
	takes time.Duration
}

func (s *server) serve(context.Context) error {
	s.turn <- struct{}{}
	time.Sleep(s.takes)
	<-s.turn
	return nil
}

// TestServedInOverload: 2,000 requests a second are due, 900 are served. Requests due before the
// cool-down and served long after it do not count.
func TestServedInOverload(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, c := range map[string]struct{ warmUp, coolDown time.Duration }{
		"plain":          {},
		"with cool-down": {0, 2 * time.Second},
		"with warm-up":   {5 * time.Second, 0},
		"with both":      {3500 * time.Millisecond, 1250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				spec := writes()
				spec.WarmUp, spec.CoolDown, spec.Drain, spec.Timeout = c.warmUp, c.coolDown, 30*time.Second, time.Minute
				s := &server{turn: make(chan struct{}, 1), takes: time.Second / 900}
				r := recordStep(t, t.Context(), dir, spec, Step{Step: workload.Step{Clients: 50, Duration: 10 * time.Second, Rate: 2000}}, s.serve)
				within(t, "AVG", r.Throughput(), 900)
				least, most, missing := r.Served.Extremes()
				if missing != "" {
					t.Errorf("the extremes are missing: %s", missing)
				}
				within(t, "MIN", least, 900)
				within(t, "MAX", most, 900)
				if got, want := r.Served.OK, r.inside(); got != want {
					t.Errorf("%d requests were served in the window, want %d", got, want)
				}
				if want := 10*time.Second - c.warmUp - c.coolDown; r.Window != want {
					t.Errorf("window of %v, want %v", r.Window, want)
				}
			})
		})
	}
}

// TestStragglerDoesNotLengthenTheWindow: one request in a 5 s closed loop takes 10 s. The window
// is 5 s, and the request is still among the latencies.
func TestStragglerDoesNotLengthenTheWindow(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		spec := writes()
		spec.Timeout = time.Minute
		var calls atomic.Int64
		r := recordStep(t, t.Context(), dir, spec, Step{Step: workload.Step{Clients: 10, Duration: 5 * time.Second}}, func(context.Context) error {
			if time.Sleep(5 * time.Millisecond); calls.Add(1) == 5000 {
				time.Sleep(10 * time.Second)
			}
			return nil
		})
		within(t, "AVG", r.Throughput(), 1900)
		if least, _, missing := r.Served.Extremes(); least < 1700 || missing != "" {
			t.Errorf("MIN = %v (%s), want at least that of nine clients, 1800", least, missing)
		}
		if r.Window != 5*time.Second || r.Served.OK != r.inside() {
			t.Errorf("%d served in %v, want %d in 5 s", r.Served.OK, r.Window, r.inside())
		}
		if slowest := time.Duration(r.Latency.MaxNS); slowest < 10*time.Second {
			t.Errorf("the slowest of the latencies is %v, want the straggler's 10 s", slowest)
		}
	})
}

// TestLargestGap: the database stalls twice; the longer stall is the gap.
func TestLargestGap(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		stalled := func() time.Duration {
			switch at := time.Since(start); {
			case at > 2*time.Second && at < 2300*time.Millisecond:
				return 2300*time.Millisecond - at
			case at > 4123*time.Millisecond && at < 4999*time.Millisecond:
				return 4999*time.Millisecond - at
			}
			return 0
		}
		r := recordStep(t, t.Context(), dir, writes(), Step{Step: workload.Step{Clients: 5, Duration: 6 * time.Second}}, func(context.Context) error {
			time.Sleep(time.Millisecond)
			time.Sleep(stalled())
			return nil
		})
		var want time.Duration
		for i := 1; i < len(r.ended); i++ {
			want = max(want, r.ended[i]-r.ended[i-1])
		}
		g := r.step.LargestGap
		if g == nil || !g.Exact() || g.Length() != want || want < 870*time.Millisecond || g.FromStart || g.ToEnd {
			t.Fatalf("largest gap %+v, want the %v that the test saw", g, want)
		}
		if at := time.Duration(g.FromNS); at < 4120*time.Millisecond || at > 4125*time.Millisecond {
			t.Errorf("the gap begins at %v, want 4.123 s", at)
		}
	})
}

// TestGapToTheEnd: nothing is answered any more until the window ends.
func TestGapToTheEnd(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := recordStep(t, t.Context(), dir, writes(), Step{Step: workload.Step{Clients: 5, Duration: 4 * time.Second}}, func(context.Context) error {
			time.Sleep(10 * time.Millisecond)
			if time.Since(start) > time.Second {
				return database.NotApplied(database.ClassOther, errors.New("gone"))
			}
			return nil
		})
		g := r.step.LargestGap
		if g == nil || !g.ToEnd || g.FromStart || (g.Length()-3*time.Second).Abs() > 20*time.Millisecond || g.ToNS != int64(4*time.Second) {
			t.Fatalf("largest gap %+v, want the last 3 s of 4 s", g)
		}
	})
}

// TestStopsCutTheTick: a step interrupted in the middle of a tick ends its window there.
func TestStopsCutTheTick(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3333*time.Millisecond)
		defer cancel()
		r := recordStep(t, ctx, dir, writes(), Step{Step: workload.Step{Clients: 5, Duration: time.Minute}}, func(context.Context) error {
			time.Sleep(30 * time.Millisecond)
			return nil
		})
		if got, want := r.Served.OK, r.inside(); got != want || want == 0 || int64(len(r.ended)) == want {
			t.Errorf("%d of %d requests were served in the window, want %d", got, len(r.ended), want)
		}
		if r.Window < 3320*time.Millisecond || r.Window > 3334*time.Millisecond {
			t.Errorf("window of %v, want up to the interrupt", r.Window)
		}
	})
}

// TestAverageLiesBetweenExtremes: over random schedules, stalls and windows.
func TestAverageLiesBetweenExtremes(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		spec := writes()
		millis := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(rt, name)) * time.Millisecond
		}
		spec.WarmUp, spec.CoolDown, spec.Drain = millis("warm-up", 0, 2500), millis("cool-down", 0, 1500), millis("drain", 1, 3000)
		spec.Timeout = millis("time-out", 20, 3000)
		if rapid.Bool().Draw(rt, "poisson") {
			spec.Arrival = workload.ArrivalPoisson
		}
		if rapid.Bool().Draw(rt, "shed") {
			spec.Backlog = workload.BacklogShed
		}
		s := Step{Step: workload.Step{Clients: rapid.IntRange(1, 8).Draw(rt, "clients"), Duration: millis("duration", 100, 6000)}}
		s.Rate = float64(rapid.SampledFrom([]int{0, 7, 60, 200}).Draw(rt, "rate"))
		if rapid.Bool().Draw(rt, "bounded by requests") {
			s.Requests = int64(rapid.IntRange(1, 500).Draw(rt, "requests"))
			if rapid.Bool().Draw(rt, "only") {
				s.Duration = 0
			}
		}
		takes, stallAt, stall := millis("takes", 5, 40), millis("stall at", 0, 6000), millis("stall", 0, 3000)
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		var r recordedStep
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var n atomic.Int64
			r = recordStep(t, t.Context(), dir, spec, s, func(ctx context.Context) error {
				wait := takes + time.Duration(n.Add(1)%7)*time.Millisecond
				if at := time.Since(start); at >= stallAt && at < stallAt+stall {
					wait += stallAt + stall - at
				}
				select {
				case <-time.After(wait):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
		checkServed(rt, &r)
	})
}

// checkServed compares the records with the test clock.
func checkServed(t *rapid.T, r *recordedStep) {
	if got, want := r.Served.OK, r.inside(); got != want {
		t.Fatalf("%d requests were served in [%v, %v), want %d", got, r.from, r.to, want)
	}
	average, missing := r.Served.Average()
	least, most, tooFew := r.Served.Extremes()
	if missing == "" && tooFew == "" && (average < least || average > most) {
		t.Fatalf("average %v must lie between %v and %v", average, least, most)
	}
	if tooFew == "" && r.Window < 3*time.Second || tooFew == results.TooFewSeconds && r.Window >= 3*time.Second {
		t.Fatalf("the extremes of a window of %v are missing because %q", r.Window, tooFew)
	}
	if missing == "" && r.Window > 0 {
		if free := float64(r.Served.OK) / r.Window.Seconds(); average-free > 1e-9*free || free-average > 1e-9*free {
			t.Fatalf("average %v must be %v, what was served over the window", average, free)
		}
	}
	for _, p := range r.progress {
		if p.ToNS < p.FromNS || p.FromNS < 0 || p.ToNS-p.FromNS > int64(results.ProgressTick) {
			t.Fatalf("a row of progress from %d to %d ns must be at most a tick long", p.FromNS, p.ToNS)
		}
		for _, edge := range []int64{int64(r.from), int64(r.to)} {
			if r.to > r.from && p.FromNS < edge && edge < p.ToNS {
				t.Fatalf("a row of progress from %d to %d ns must not cross the window's edge at %d", p.FromNS, p.ToNS, edge)
			}
		}
	}
	checkGap(t, r)
}

// checkGap compares the largest gap with the longest time without an answer.
func checkGap(t *rapid.T, r *recordedStep) {
	g := r.step.LargestGap
	if r.to <= r.from {
		return
	}
	last, longest := r.from, time.Duration(0)
	for _, at := range r.ended {
		if at >= r.from && at < r.to {
			longest, last = max(longest, at-last), at
		}
	}
	longest = max(longest, r.to-last)
	switch {
	case g == nil:
		t.Fatalf("no largest gap, want %v", longest)
	case g.Exact() && g.Length() != longest, !g.Exact() && longest > results.ProgressTick:
		t.Fatalf("largest gap %v, want %v", g.Length(), longest)
	}
}
