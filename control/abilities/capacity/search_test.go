package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// server simulates windows: requests at rates above its capacity wait, and those that the clients
// cannot send within the limit are shed.
type server struct {
	t        *testing.T
	o        *Options
	capacity float64
	noise    *rand.Rand
	late     bool // requests miss the limit because they are sent late
	slightly bool // requests are sent late, but that makes no request miss the limit
	declines bool
	stops    bool    // the client process stands still in every other window
	full     float64 // the rate from which the store is full
	slow     float64 // the share of requests that are slow at any rate
	now      time.Time
	begun    []load.Step
	cut      int // windows that were ended early
}

func newServer(t *testing.T, c declared.Plan) *server {
	s := &server{t: t, capacity: 2000, noise: rand.New(rand.NewPCG(1, 2)), now: time.Unix(1_800_000_000, 0)}
	dir := t.TempDir()
	s.o = &Options{
		Plan: c, Stretch: workload.Step{Clients: 500, Connections: 1, Rate: 250}, Trial: 1, Dir: dir, Sink: NewSink(dir),
		Step: s.step, Before: func(context.Context) (int64, error) { return 1000, nil }, Last: func(float64) error { return nil }, Say: t.Logf,
	}
	return s
}

// step sends the seconds of one window to the sink.
func (s *server) step(ctx context.Context, step load.Step) (load.StepResult, error) {
	s.begun = append(s.begun, step)
	res := load.StepResult{Start: s.now, Requests: int64(step.Rate * step.Duration.Seconds())}
	capacity := s.capacity * math.Exp(.01*s.noise.NormFloat64())
	for at := time.Duration(0); at < step.Duration; at += time.Second {
		second := load.Second{Start: s.now}
		phase := results.PhaseMeasure
		if at < s.o.Settle {
			phase = results.PhaseWarmUp
		}
		due := int64(step.Rate)
		iv := results.Interval{Second: s.now.Unix(), Step: step.Index, Phase: phase, Operation: "update", Clients: step.Clients, Due: due}
		iv.Shed = max(due-int64(float64(step.Clients)/s.o.Latency.Seconds()), 0)
		iv.Sent, iv.OK = due-iv.Shed, due-iv.Shed
		if s.late || s.slightly {
			iv.Late = due
		}
		if s.full > 0 && step.Rate >= s.full {
			iv.OK, iv.Failed = 0, iv.Sent
			second.Errors = []results.ErrorCount{{Second: iv.Second, Step: step.Index, Phase: phase, Operation: "update", Class: string(database.ClassSpaceExceeded), Count: iv.Sent, Message: "no space"}}
		}
		if s.stops && len(s.begun)%2 == 0 && phase == results.PhaseMeasure {
			iv.GapNS, iv.Late, iv.Shed = int64(400*time.Millisecond), due/100, due/10
			iv.Sent, iv.OK = due-iv.Shed, due-iv.Shed
		}
		if s.declines {
			iv.Failed = iv.OK / 2
			iv.OK -= iv.Failed
			declined := histogram.New()
			if err := declined.RecordValues(int64(2*time.Millisecond), iv.Failed); err != nil {
				return res, err
			}
			second.Failures = []load.Latency{{Series: results.Series{Timing: results.TimingResponse, Operation: "update", Outcome: workload.Declined, Step: step.Index, Phase: phase}, Histogram: declined}}
		}
		h := histogram.New()
		latency := 2 * time.Millisecond
		if step.Rate > capacity {
			latency = 50 * time.Millisecond
		}
		slow := int64(0)
		for range iv.OK {
			if s.slow > 0 && s.noise.Float64() < s.slow {
				slow++
			}
		}
		if err := errors.Join(h.RecordValues(int64(latency), iv.OK-slow), h.RecordValues(int64(50*time.Millisecond), slow)); err != nil {
			return res, err
		}
		sent := h
		if s.late {
			sent = histogram.New()
			if err := sent.RecordValues(int64(2*time.Millisecond), iv.OK); err != nil {
				return res, err
			}
		}
		second.Intervals = []results.Interval{iv}
		second.Latencies = []load.Latency{{Series: results.Series{Timing: results.TimingService, Operation: "update", Outcome: workload.OK, Step: step.Index, Phase: phase}, Histogram: sent}, {Series: results.Series{Timing: results.TimingResponse, Operation: "update", Outcome: workload.OK, Step: step.Index, Phase: phase}, Histogram: h}}
		if err := s.o.Sink.Second(second); err != nil {
			return res, err
		}
		s.now = s.now.Add(time.Second)
		if ctx.Err() != nil {
			s.cut++
			res.End = s.now
			return res, errors.Join(nil, context.Cause(ctx))
		}
	}
	res.End = s.now
	return res, nil
}

// search runs a search and reads its rows.
func (s *server) search() (Outcome, []declared.Window, error) {
	s.t.Helper()
	out, err := Run(s.t.Context(), *s.o)
	if closed := s.o.Sink.Close(); closed != nil {
		s.t.Errorf("close the records: %v", closed)
	}
	rows, readErr := declared.ReadWindows(filepath.Join(s.o.Dir, declared.File))
	if readErr != nil {
		s.t.Errorf("read the windows: %v", readErr)
	}
	return out, rows, err
}

func plan() declared.Plan {
	return declared.Plan{
		Latency: 20 * time.Millisecond, At: 99, Errors: .1, Window: 4 * time.Second, Settle: time.Second, Share: 80, Tolerance: 6, Windows: 40, Hold: 10 * time.Second,
	}
}

// TestFound: the search finds the capacity, repeats a rate, and holds one. The run records come
// from the hold that passed.
func TestFound(t *testing.T) {
	s := newServer(t, plan())
	out, rows, err := s.search()
	if err != nil || out.Reason != "found" || out.Rate < 1900 || out.Rate > 2100 || out.Low > 2000 || out.High < 1960 || out.Held == 0 || out.Fit == nil {
		t.Fatalf("%+v, %v; want about 2,000/s, held", out.Result, err)
	}
	if d := out.Drift; d == nil || d.Rate < .9*out.Rate || !d.Agrees() {
		t.Errorf("drift is %+v, want none, near the capacity", d)
	}
	if s.cut == 0 {
		t.Error("no window was ended early, although windows at twice the capacity cannot pass")
	}
	last := rows[len(rows)-1]
	if last.Kind != declared.KindHold || last.Pass != 1 || last.Rate != out.Held || last.DBBytes != 1000 {
		t.Errorf("the last window is %+v, want the hold at %v/s", last, out.Held)
	}
	intervals, err := results.ReadIntervals(filepath.Join(s.o.Dir, results.FileIntervals))
	if err != nil || len(intervals) != 11 || intervals[0].Due != int64(out.Held) {
		t.Errorf("%d seconds in the records of the run, %v; want 11 of the hold", len(intervals), err)
	}
	for n := range out.Holds - 1 {
		if _, err := os.Stat(filepath.Join(s.o.Dir, declared.Dir, fmt.Sprintf("hold-%d", n+1), results.FileIntervals)); err != nil {
			t.Errorf("records of a hold that failed: %v", err)
		}
	}
	if got := describe(&out.Result); len(got) < 20 {
		t.Errorf("described as %q", got)
	}
}

// TestFewRequests: at low rates windows are longer, so a few slow requests do not hide the
// capacity. The windows are as long as their rate requires, and recorded so.
func TestFewRequests(t *testing.T) {
	s := newServer(t, plan())
	s.capacity, s.slow, s.o.Windows = 50, .007, 24
	out, rows, err := s.search()
	if err != nil || !out.Found() || out.Rate < 42 || out.Rate > 52 {
		t.Fatalf("%+v, %v; want about 49/s", out.Result, err)
	}
	whole := 0
	for _, w := range rows {
		if w.Kind != declared.KindSearch || w.Early == 1 {
			continue
		}
		whole++
		want := (s.o.Settle + s.o.WindowAt(w.Rate) + time.Second - 1).Truncate(time.Second) // the server counts whole seconds
		if got := w.End.Sub(w.Start); got != want || w.Rate > 31.25 && w.Due < 470 {
			t.Errorf("at %v/s a window has %d requests in %v, want %v", w.Rate, w.Due, got, want)
		}
	}
	if whole < 6 {
		t.Errorf("%d windows were sent to their end, want more", whole)
	}
}

// TestExcused: a client that stood still voids its window, and answers that decline requests are
// answers.
func TestExcused(t *testing.T) {
	slowtest.Skip(t)
	s := newServer(t, plan())
	s.stops = true
	out, _, err := s.search()
	if err != nil || !out.Found() || out.Rate < 1900 || out.Stalled > 0 || out.Voided < out.Counted/2 {
		t.Errorf("a client that stands still: %+v, %v; want about 2,000/s", out.Result, err)
	}
	s = newServer(t, plan())
	s.slightly = true
	if out, _, err := s.search(); err != nil || !out.Found() || out.Rate < 1900 || out.Voided > 0 {
		t.Errorf("slow requests that were sent a little late: %+v, %v; want about 2,000/s and no void window", out.Result, err)
	}
	s = newServer(t, plan())
	s.declines = true
	if out, _, err := s.search(); err != nil || !out.Found() || out.Rate < 1900 {
		t.Errorf("declined requests: %+v, %v; want about 2,000/s", out.Result, err)
	}
}

// TestOtherEnds: an end without a capacity is named, and is followed by a last window if there is
// a rate for one.
func TestOtherEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*server)
		reason string
		last   bool
	}{
		{"late", func(s *server) { s.late = true }, "client-limited", true},
		{"full", func(s *server) { s.full = 1000 }, "store full", false},
		{"few clients", func(s *server) { s.capacity = 1e9; s.o.Stretch.Clients = 4 }, "client-limited", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, plan())
			s.o.Windows = 14
			tt.change(s)
			out, rows, err := s.search()
			if err != nil || out.Reason != tt.reason || out.Found() {
				t.Errorf("%+v, %v; want %q", out.Result, err, tt.reason)
			}
			if got := out.Step != nil; got != tt.last {
				t.Errorf("a last window was sent: %v, want %v", got, tt.last)
			}
			if len(rows) == 0 {
				t.Error("no window was recorded")
			}
		})
	}
}

// TestHoldEnds: the capacity remains if the hold cannot be sent, and the reason is named.
func TestHoldEnds(t *testing.T) {
	slowtest.Skip(t)
	for _, tt := range []struct {
		unheld string
		spoil  func(*server)
	}{
		{"client-limited", func(s *server) { s.late, s.capacity = true, 1 }},
		{"store full", func(s *server) { s.full = 1 }},
	} {
		s := newServer(t, plan())
		s.o.Last = func(float64) error { tt.spoil(s); return nil }
		out, rows, err := s.search()
		if err != nil || out.Reason != "found" || !out.Found() || out.Rate < 1900 || out.Held != 0 || out.Unheld != tt.unheld || out.EndedAt != rows[len(rows)-1].Rate {
			t.Errorf("%s: %+v, %v", tt.unheld, out.Result, err)
		}
		if text := describe(&out.Result); !strings.Contains(text, "not held ("+tt.unheld) || out.Step == nil {
			t.Errorf("%s: %s, of the window %+v", tt.unheld, text, out.Step)
		}
	}
}

// TestWarmUp: the first rate is sent before the first window, for the configured time, and
// nothing is concluded from it.
func TestWarmUp(t *testing.T) {
	c := plan()
	c.WarmUp = 20 * time.Second
	s := newServer(t, c)
	s.capacity = 1 // no window passes, and none is ended early
	s.o.Before = func(context.Context) (int64, error) {
		if len(s.begun) == 1 {
			s.capacity = 2000
		}
		return 1000, nil
	}
	out, rows, err := s.search()
	if err != nil || !out.Found() || out.Rate < 1900 {
		t.Fatalf("%+v, %v; want about 2,000/s", out.Result, err)
	}
	if first := rows[0]; first.Kind != declared.KindWarmUp || first.Rate != 250 || first.Due != 20*250 || first.Pass != 0 || rows[1].Kind != declared.KindSearch || rows[1].Rate != 250 {
		t.Errorf("the first windows are %+v and %+v, want a warm-up of 5,000 requests and a window at its rate", first, rows[1])
	}
}

// TestInterrupted: an interrupted search leaves its measurements.
func TestInterrupted(t *testing.T) {
	s := newServer(t, plan())
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	step := s.o.Step
	s.o.Step = func(c context.Context, l load.Step) (load.StepResult, error) {
		if len(s.begun) == 3 {
			cancel(stop)
		}
		return step(c, l)
	}
	out, err := Run(ctx, *s.o)
	if !errors.Is(err, stop) || out.Reason != "searching" {
		t.Errorf("%+v, %v; want the cause", out.Result, err)
	}
	if err := s.o.Sink.Close(); err != nil {
		t.Errorf("close the records: %v", err)
	}
	if rows, err := declared.ReadWindows(filepath.Join(s.o.Dir, declared.File)); err != nil || len(rows) != 3 {
		t.Errorf("%d windows, %v; want 3", len(rows), err)
	}
}

// TestDeclined: negative answers caused by the load itself, such as a conflict, kept the limit or
// missed it. The servers did not fail.
func TestDeclined(t *testing.T) {
	lat := func(o workload.Outcome, n int64, d time.Duration) load.Latency {
		h := histogram.New()
		if err := h.RecordValues(int64(d), n); err != nil {
			t.Fatalf("record: %v", err)
		}
		return load.Latency{Series: results.Series{Timing: results.TimingResponse, Operation: "txn", Outcome: o, Phase: results.PhaseMeasure}, Histogram: h}
	}
	count := &tally{limit: int64(20 * time.Millisecond), budget: 10, decided: func() { t.Error("the window was ended early, although 10 of 100 requests missed the limit") }}
	count.add(load.Second{
		Intervals: []results.Interval{{Phase: results.PhaseMeasure, Operation: "txn", Due: 100, Sent: 100, OK: 60, Failed: 40}},
		Latencies: []load.Latency{lat(workload.OK, 60, time.Millisecond)},
		// 3 requests were declined late, and 7 failed.
		Failures: []load.Latency{lat(workload.Failed, 40, time.Millisecond), lat(workload.Declined, 30, time.Millisecond), lat(workload.Declined, 3, time.Second)},
	})
	if got, want := count.end(), (measured{due: 100, within: 90, over: 3, failed: 40, declined: 33}); got != want || got.lost() != 7 {
		t.Errorf("counted %+v with %d lost, want %+v with 7", got, got.lost(), want)
	}
}

// The repeated window is near the capacity: low rates pass even on slower clusters.
func TestRepeatedWindow(t *testing.T) {
	w := func(rate float64, pass int, kind declared.Kind) declared.Window {
		return declared.Window{Rate: rate, Pass: pass, Kind: kind}
	}
	rows := []declared.Window{
		w(50, 1, declared.KindWarmUp), w(100, 1, declared.KindSearch), w(200, 1, declared.KindSearch), w(400, 1, declared.KindSearch),
		w(800, 0, declared.KindSearch), w(500, 1, declared.KindSearch), w(310, 0, declared.KindSearch), w(312, 1, declared.KindSearch),
	}
	for found, want := range map[float64]float64{312: 400, 120: 100, 0: 400} {
		if got, ok := repeated(rows, found); !ok || got.Rate != want {
			t.Errorf("found %g/s: %g/s is sent again (%t), want %g/s", found, got.Rate, ok, want)
		}
	}
	if _, ok := repeated(rows[:1], 10); ok {
		t.Error("a warm-up is sent again")
	}
}
