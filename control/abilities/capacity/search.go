package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/stats/capacity"
	"github.com/coreos/dbtester/pkg/workload"
)

// Options are the inputs to a search.
type Options struct {
	declared.Plan
	// Stretch has the clients and connections in all windows, and the rate in the first.
	Stretch workload.Step
	// Trial counts from 1.
	Trial int
	// Dir is the tag folder. The recorder writes to Sink.
	Dir  string
	Sink *Sink
	// Step sends a window and returns when its last request has ended. An error ends the search,
	// except the error from its context.
	Step func(context.Context, load.Step) (load.StepResult, error)
	// Before is called before each window, when no request is in flight. It keeps the store small
	// and returns its size, -1 if not known.
	Before func(context.Context) (size int64, err error)
	// Last is called before each window recorded for the run. Another such window may follow.
	Last func(rate float64) error
	Say  func(format string, args ...any)
}

// Outcome is the result of a search.
type Outcome struct {
	declared.Result
	// Step and Sent describe the window in the run records; nil without one.
	Step *load.Step
	Sent *load.StepResult
}

// errDecided ends windows early that can no longer pass.
var errDecided = errors.New("the window can no longer pass")

// search runs the windows that the state machine asks for.
type search struct {
	Options
	machine *capacity.Search
	options capacity.Options
	rows    []declared.Window
	out     Outcome
	number  int // of windows sent
}

// optionsOf returns the options for the state machine.
func optionsOf(c declared.Plan, first float64) capacity.Options {
	o := capacity.Defaults()
	o.Limit, o.At, o.Errors = c.Latency, float64(c.At)/100, float64(c.Errors)/100
	o.Share, o.Tolerance, o.Windows = float64(c.Share)/100, float64(c.Tolerance)/100, c.Windows
	o.Least = c.Least()
	o.Start = max(first, o.Least)
	o.Hold = c.Hold > 0
	return o
}

// Run searches until the state machine ends, ctx ends or a window can't be sent. The outcome
// holds the results until then.
func Run(ctx context.Context, o Options) (Outcome, error) {
	s := &search{Options: o, options: optionsOf(o.Plan, o.Stretch.Rate)}
	s.out.Plan = o.Plan
	machine, err := capacity.New(s.options)
	if err != nil {
		return s.out, err
	}
	s.machine = machine
	err = s.windows(ctx)
	s.conclude()
	return s.out, errors.Join(err, declared.WriteWindows(filepath.Join(o.Dir, declared.File), s.rows))
}

// windows sends all windows.
func (s *search) windows(ctx context.Context) error {
	if err := s.Sink.openSearch(); err != nil {
		return err
	}
	if s.WarmUp > 0 {
		if err := s.window(ctx, declared.KindWarmUp, s.options.Start); err != nil {
			return err
		}
	}
	again := false
	for {
		probe, more := s.machine.Next()
		if !more {
			break
		}
		kind := declared.KindSearch
		if probe.Hold {
			if !again {
				again = true
				if err := s.repeat(ctx); err != nil {
					return err
				}
			}
			kind = declared.KindHold
		}
		if err := s.window(ctx, kind, probe.Rate); err != nil {
			return err
		}
	}
	if !again {
		if err := s.repeat(ctx); err != nil {
			return err
		}
	}
	if s.out.Step != nil {
		return nil
	}
	rate := s.lastRate()
	if rate == 0 {
		return nil
	}
	return s.window(ctx, declared.KindLast, rate)
}

// lastRate returns the rate for the window after a search without a hold: the capacity, else the
// highest rate that passed, else the least rate. It is 0 if the store is full.
func (s *search) lastRate() float64 {
	v := s.machine.Verdict()
	switch v.Reason {
	case capacity.Found, capacity.Wide:
		return v.Rate
	case capacity.StoreFull:
		return 0
	}
	best := 0.0
	for _, w := range s.rows {
		if w.Pass == 1 && w.Kind != declared.KindWarmUp {
			best = max(best, w.Rate)
		}
	}
	if best == 0 {
		best = s.options.Least
	}
	return best
}

// repeat sends a window at the rate of an early window that passed, and compares both.
func (s *search) repeat(ctx context.Context) error {
	v := s.machine.Verdict()
	first, ok := repeated(s.rows, v.Rate)
	if !ok || v.Reason == capacity.StoreFull || v.Reason == capacity.ClientLimited {
		return nil
	}
	if err := s.window(ctx, declared.KindAgain, first.Rate); err != nil {
		return err
	}
	last := s.rows[len(s.rows)-1]
	if last.Void == 1 {
		return nil
	}
	s.out.Drift = &declared.Drift{Rate: first.Rate, First: within(first), Last: within(last)}
	return nil
}

// repeated returns, from the first half of the search, the passed window whose rate is nearest to
// the capacity: low rates pass at the end as well, however much the cluster has slowed down.
// Without a capacity it returns the one with the highest rate.
func repeated(rows []declared.Window, found float64) (best declared.Window, ok bool) {
	searched := slices.DeleteFunc(slices.Clone(rows), func(w declared.Window) bool { return w.Kind != declared.KindSearch })
	distance := func(w declared.Window) float64 {
		if found <= 0 {
			return -w.Rate
		}
		return math.Abs(math.Log(w.Rate / found))
	}
	for i, w := range searched {
		early := i < (len(searched)+1)/2
		if w.Pass == 1 && early && (!ok || distance(w) < distance(best)) {
			best, ok = w, true
		}
	}
	return best, ok
}

// within returns the share of requests in w that kept the limit.
func within(w declared.Window) float64 { return 1 - float64(w.Over)/float64(max(w.Due, 1)) }

// window sends one window and records it.
func (s *search) window(ctx context.Context, kind declared.Kind, rate float64) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	size, err := s.Before(ctx)
	if err != nil {
		return err
	}
	s.number++
	length := s.WindowAt(rate)
	last := kind == declared.KindHold || kind == declared.KindLast
	switch {
	case last:
		length = s.LastWindow(rate)
	case kind == declared.KindWarmUp:
		length = s.WarmUp
	}
	step := load.Step{Index: s.number - 1, Step: s.Stretch}
	step.Rate, step.Duration = rate, s.Settle+length
	if last {
		step.Index = 0
		if err := s.Sink.openLast(); err != nil {
			return err
		}
		if err := s.Last(rate); err != nil {
			return err
		}
	}
	until, decide := context.WithCancelCause(ctx)
	defer decide(nil)
	t := s.Sink.begin(s.Latency, s.budget(rate, length, last || kind == declared.KindWarmUp), func() { decide(errDecided) })
	res, err := s.Step(until, step)
	early := false
	if errors.Is(err, errDecided) && ctx.Err() == nil {
		early, err = true, load.Without(err, errDecided)
	}
	measured := t.end()
	if res.Start.IsZero() {
		return err
	}
	if last {
		s.out.Step, s.out.Sent = &step, &res
	}
	if err != nil {
		return err
	}
	s.record(kind, rate, res, measured, early, size)
	return nil
}

// budget returns the number of requests in a window that may miss the limit while it can still
// pass. The warm-up and the windows in the run's records are never cut short: they have no budget.
func (s *search) budget(rate float64, length time.Duration, whole bool) int64 {
	if whole {
		return -1
	}
	return int64((1-s.options.At)*rate*length.Seconds()) + 1
}

// record judges a window, gives it to the state machine, and writes its row.
func (s *search) record(kind declared.Kind, rate float64, res load.StepResult, m measured, early bool, size int64) {
	w := m.window(rate, s.Stretch.Clients, s.Latency, res)
	before := s.machine.Verdict()
	outcome := s.options.Judge(w)
	if kind == declared.KindSearch || kind == declared.KindHold {
		outcome = s.machine.Observe(w)
	}
	v := s.machine.Verdict()
	row := declared.Window{
		Trial: s.Trial, Window: s.number, Kind: kind, Start: res.Start, End: res.End, Rate: rate,
		Due: m.due, Over: w.Over, Failed: m.failed, Shed: m.shed, Unsent: m.unsent, Late: m.late,
		PauseNS: int64(w.Pause), Outcome: string(outcome), Low: v.Low, Middle: v.Rate, High: v.High,
		DBBytes: size, HeapBytes: -1, FreeBytes: -1,
	}
	row.Pass, row.Void, row.Early = number(outcome == capacity.Pass), number(outcome == capacity.Void), number(early)
	s.rows = append(s.rows, row)
	s.say(row, before)
	// If control is killed, its measurements remain. Errors from a file that can't be written are
	// reported when the search ends.
	_ = declared.WriteWindows(filepath.Join(s.Dir, declared.File), s.rows)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// say reports w.
func (s *search) say(w declared.Window, before capacity.Verdict) {
	var known string
	if w.Middle > 0 && w.Kind == declared.KindSearch {
		known = fmt.Sprintf("; capacity %.0f/s [%.0f .. %.0f]", w.Middle, w.Low, w.High)
	}
	what := map[declared.Kind]string{
		declared.KindSearch: fmt.Sprintf("window %d of at most %d", before.Windows+1, s.Windows),
		declared.KindWarmUp: "warm-up",
		declared.KindAgain:  "again", declared.KindHold: fmt.Sprintf("hold for %v", s.Hold), declared.KindLast: "last window",
	}[w.Kind]
	s.Say("%s: %.0f/s: %s, %.2f %% within %v%s", what, w.Rate, w.Outcome, 100*within(w), s.Latency, known)
}

// conclude writes the verdict into the outcome.
func (s *search) conclude() {
	v := s.machine.Verdict()
	c := &s.out.Result
	c.Reason, c.EndedAt, c.Rate, c.Low, c.High = string(v.Reason), v.At, v.Rate, v.Low, v.High
	c.Counted, c.Stalled, c.Voided, c.Held, c.Holds = v.Windows, v.Stalled, v.Voided, v.Held, v.Holds
	c.Unheld = string(v.Unheld)
	if threshold, spread, lapse, ok := s.machine.Fit(); ok {
		c.Fit = &declared.Fit{Threshold: threshold, Spread: spread, Lapse: lapse}
	}
}

// describe returns a verdict in one line: "21,400/s [20,100 .. 22,300], held 60 s at 20,900/s".
func describe(c *declared.Result) string {
	per := func(rate float64) string { return humanize.CommafWithDigits(math.Round(rate), 0) }
	var text string
	switch capacity.Reason(c.Reason) {
	case capacity.Found, capacity.Wide:
		text = fmt.Sprintf("%s/s [%s .. %s]", per(c.Rate), per(c.Low), per(c.High))
	case capacity.Stalls:
		if text = c.Reason; !c.Stalls() {
			text = "windows fail at any rate"
		}
	case capacity.ClientLimited, capacity.StoreFull, capacity.TooHigh, capacity.TooLow:
		text = fmt.Sprintf("%s (%s/s)", c.Reason, per(c.EndedAt))
	default:
		text = c.Reason
	}
	switch {
	case c.Held > 0:
		text += fmt.Sprintf(", held for %v at %s/s", c.Hold, per(c.Held))
	case c.Unheld != "":
		text += fmt.Sprintf(", not held (%s at %s/s)", c.Unheld, per(c.EndedAt))
	}
	return text
}
