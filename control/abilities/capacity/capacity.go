// Package capacity finds the capacity of a cluster: it sends windows of load at the rates that
// package stats/capacity asks for, one after the other on the same connections, and records them.
package capacity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/control/abilities"
	declared "github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// Half searches for the capacity. It has no plan unless the file asks for a search.
type Half struct {
	run *abilities.Run
	// plan is nil if the file asks for no search.
	plan *declared.Plan
	// sink is nil before Open, result before the search has ended.
	sink   *Sink
	result *declared.Result
}

var (
	_ abilities.Describer = (*Half)(nil)
	_ abilities.Sender    = (*Half)(nil)
	_ abilities.Seeker    = (*Half)(nil)
	_ abilities.Marker    = (*Half)(nil)
	_ abilities.Completer = (*Half)(nil)
)

// New returns the search for r. It sends nothing unless the file asks for a search.
func New(r *abilities.Run) *Half {
	return &Half{run: r, plan: declared.Of(r.Experiment.Abilities)}
}

// Sends reports whether the file asks for a search.
func (h *Half) Sends() bool { return h.plan != nil }

// Describe describes the search and the load under it.
func (h *Half) Describe() []string {
	if h.plan == nil {
		return nil
	}
	c, l := h.plan, h.run.DB.Load
	hold := "no hold"
	if c.Hold > 0 {
		hold = fmt.Sprintf("a hold of %v", c.Hold)
	}
	clients := english.Plural(l.Clients, "client", "")
	return []string{
		fmt.Sprintf("load: %s, %s on %s, at rates that a search finds, starting at %v requests/s%s", l.Describe(),
			clients, english.Plural(l.Connections, "connection", ""), math.Round(10*max(l.Rate, c.Least()))/10, l.DescribeArrival()),
		fmt.Sprintf("capacity: the rate at which %v of windows have %s and at most %v failures: at most %d windows of %v (below %s requests/s longer, %v at most) after %v, to %v, then %s",
			c.Share, c.SLO(), c.Errors, c.Windows, c.Window, humanize.CommafWithDigits(math.Round(c.Enough()*10)/10, 1), c.WindowAt(0), c.Settle, c.Tolerance, hold),
		fmt.Sprintf("%s carry at most %s requests/s within %v", clients,
			humanize.Comma(int64(math.Round(float64(l.Clients)/c.Latency.Seconds()))), c.Latency),
	}
}

// Open returns the sink for all windows.
func (h *Half) Open() (abilities.Sink, error) {
	h.sink = NewSink(h.run.Dir)
	return h.sink, nil
}

// Send finds the capacity. The run records cover its last window.
func (h *Half) Send(ctx context.Context, s abilities.Sending) error {
	sent := false
	out, err := Run(ctx, Options{
		Plan: *h.plan, Stretch: h.run.DB.Load.Stretches()[0], Trial: s.Trial(), Dir: h.run.Dir, Sink: h.sink,
		Step: func(window context.Context, step load.Step) (load.StepResult, error) {
			sent = true
			return s.Step(ctx, window, step)
		},
		Before: func(ctx context.Context) (int64, error) {
			if sent {
				s.Between(ctx)
			}
			return h.size(ctx), nil
		},
		Last: func(rate float64) error { return h.last(rate, s) }, Say: h.run.Step,
	})
	h.result = &out.Result
	unset := declared.Record().Set(&h.run.Record.Records, out.Result)
	if out.Step != nil {
		s.Record(*out.Step, *out.Sent)
	}
	h.run.Say("capacity (%s): %s", out.SLO(), describe(h.result))
	if errors.Is(err, load.ErrMembersGone) && ctx.Err() == nil {
		err = nil // lost servers are marks, and the rest is recorded
	}
	return errors.Join(err, unset)
}

// last prepares the run record for a window that may be the last. It drops the counts from earlier
// windows.
func (h *Half) last(rate float64, s abilities.Sending) error {
	l := &h.run.Record.Load
	l.Rate, l.Duration = rate, h.plan.Settle+h.plan.LastWindow(rate)
	h.run.Record.Steps = nil
	return s.Restart()
}

// sizeTimeout bounds the request for the store size.
const sizeTimeout = 5 * time.Second

// size returns the store size, -1 if it is not known: member samples may have it.
func (h *Half) size(ctx context.Context) int64 {
	sizer, ok := h.run.Driver.(database.FillReporter)
	if !ok {
		return -1
	}
	within, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	size, _, err := sizer.Fill(within, *h.run.Target)
	if err != nil {
		return -1
	}
	return size
}

// Complete adds facts from member samples to the windows.
func (h *Half) Complete() error { return addState(h.run.Dir, h.run.Record) }

// Marks returns the marks for the search.
func (h *Half) Marks() []results.Mark {
	if h.result == nil {
		return nil
	}
	return marksOf(h.result)
}

// Found reports whether the search found a capacity.
func (h *Half) Found() bool { return h.result != nil && h.result.Found() }

// Unfound returns why the search found no capacity.
func (h *Half) Unfound() (what, why string) {
	if h.result == nil || h.Found() {
		return "", ""
	}
	what = declared.Ability().Name
	for _, m := range h.run.Record.Validity {
		if m.Code != mark.Capacity {
			continue
		}
		if why := mark.NoCapacity(m.Values, m.Words); why != "" {
			return what, why
		}
	}
	return what, describe(h.result)
}
