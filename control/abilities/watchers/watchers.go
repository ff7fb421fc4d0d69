// Package watchers runs key watchers during a load, and compares their events with the writes.
package watchers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/coordination/watch"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// workers is the number of watchers that are added at the same time, and sharedWorkers that on
// clusters shared with others.
const (
	workers       = 64
	sharedWorkers = 8
)

// eventStage is the event kind for a stage whose watchers all watch.
const eventStage = "watchers established"

// Half has the watchers in one run.
type Half struct {
	run      *abilities.Run
	plan     watchers.Plan
	facts    *database.WatchFacts
	watching *watch.Watching // nil unless the writes are seen
	seconds  *observation.Stream
	written  error // from ending both
	// unsure is clockMargin if generators issue the load, and clockError the bound on their clock
	// errors.
	unsure, clockError time.Duration
}

// clockMargin is far more than compared clocks differ by. Where the order between a write and an
// event counts, writes from generators get the benefit of this doubt.
const clockMargin = time.Second

// New returns the watchers for r.
func New(r *abilities.Run) *Half {
	h := &Half{run: r, plan: watchers.Keys().Of(r.DB.Abilities)}
	h.facts = database.WatchFactsOf(r.Info, r.Driver, h.plan.Kind)
	return h
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "watch keys" }

// wanted reports whether there are watchers.
func (h *Half) wanted() bool { return h.plan.Wanted() && h.facts != nil }

// Describe describes the watchers, their keys and the watch kind.
func (h *Half) Describe() []string {
	if !h.wanted() {
		return nil
	}
	var numbers []string
	for _, n := range h.plan.Watchers {
		numbers = append(numbers, fmt.Sprint(n))
	}
	text := fmt.Sprintf("watchers: %s watch %s by %s watches (%s)", strings.Join(numbers, ", then "), h.plan.Of.Text(), h.plan.Kind, h.facts.How)
	if slow := h.plan.Slow; slow.Wanted() {
		text += fmt.Sprintf("; %s of the connections read nothing for %v of each stage", slow.Share, slow.Pause)
	}
	if h.plan.Reconnect > 0 {
		text += fmt.Sprintf("; each connection is closed and opened again once in %v", h.plan.Reconnect)
	}
	if h.run.Experiment.ByGenerators() {
		text += "; generators send this machine each of their writes, and times are known to within the errors of their clocks"
	}
	if err := h.possible(); err != nil {
		text += "; " + err.Error()
	}
	return []string{text}
}

// possible returns why the watchers cannot be.
func (h *Half) possible() error {
	conns := min(h.plan.Connections, h.plan.Most())
	if h.facts.Conns {
		conns = h.plan.Most()
	}
	return abilities.RoomFor(fmt.Sprintf("%d watchers have %d connections", h.plan.Most(), conns), conns, abilities.OpenFiles())
}

// Watch returns a watch that compares writes with watcher events.
func (h *Half) Watch(spec load.Spec) (load.Watch, error) {
	if !h.wanted() {
		return nil, nil
	}
	n := workers
	if len(h.run.DB.Endpoints) > 0 {
		n = sharedWorkers
	}
	l := spec.Load
	h.seconds = observation.NewStream(watchers.Observed(), h.run.Dir, time.Now())
	h.watching = watch.New(watch.Options{
		Dial: h.dial, Facts: *h.facts, Plan: h.plan, Load: &l, Workers: n, Unsure: h.unsure, Write: h.seconds.Write,
		Began: func(at time.Time, watchers int) {
			h.run.Event(results.Event{Time: at.UTC(), Kind: eventStage, Member: -1, Amount: float64(watchers), Unit: "watchers"})
		},
	})
	return h.watching.Observe, nil
}

// WatchWrites watches like Watch, for loads issued by generators.
func (h *Half) WatchWrites(spec load.Spec) (load.Watch, error) {
	h.unsure = clockMargin
	return h.Watch(spec)
}

// dial opens connection n, to one member after the other.
func (h *Half) dial(ctx context.Context, n int, to database.Receiver) (database.Watches, error) {
	target := *h.run.Target
	target.Prefer = n % len(target.Endpoints)
	return h.run.Driver.(database.WatchDialer).DialWatches(ctx, target, h.plan.Kind, to)
}

// Prepare adds the watchers for the first stage.
func (h *Half) Prepare(ctx context.Context) error {
	if !h.wanted() {
		return nil
	}
	if err := h.possible(); err != nil {
		return fmt.Errorf("watch keys: %w", err)
	}
	if h.watching == nil {
		return errors.New("watch keys: the requests of the load are not seen")
	}
	h.run.Step("add %d watchers", h.plan.Watchers[0])
	return h.watching.Prepare(ctx)
}

// Run adds the watchers for the other stages.
func (h *Half) Run(ctx context.Context) error {
	if h.watching == nil {
		return nil
	}
	return h.watching.Run(ctx)
}

// End ends the watches.
func (h *Half) End(ctx context.Context, issued abilities.Issued) {
	if h.watching == nil {
		return
	}
	if h.clockError = issued.ClockError; h.clockError > clockMargin {
		h.watching.Doubt(fmt.Errorf("the clocks of generators are known to within %v only, not within %v", h.clockError, clockMargin))
	}
	h.written = errors.Join(h.watching.End(ctx), h.seconds.Close())
}

// Finish records the outcome of the watchers.
func (h *Half) Finish() error {
	if h.watching == nil {
		return nil
	}
	o := h.watching.Outcome()
	o.ClockError = h.clockError
	err := h.latencies(&o)
	h.mark(&o)
	return errors.Join(err, h.written, h.run.Observed(h.seconds), watchers.Record().Set(&h.run.Record.Records, o))
}

// latencies sets the request latencies in the whole seconds of each stage.
func (h *Half) latencies(o *watchers.Outcome) error {
	var times []results.Stretch
	var of []func(watchers.Latency)
	add := func(start, end time.Time, set func(watchers.Latency)) {
		from, to := start.Truncate(time.Second), end.Truncate(time.Second)
		if from.Before(start) {
			from = from.Add(time.Second)
		}
		if to.After(from) {
			times, of = append(times, results.Stretch{From: from, Length: to.Sub(from) - 1}), append(of, set)
		}
	}
	for i := range o.Stages {
		s := &o.Stages[i]
		add(s.Start, s.Start.Add(s.Length), func(l watchers.Latency) { s.Seconds, s.Requests, s.P99 = l.Seconds, l.Requests, l.P99 })
		if slow := s.Slow; slow != nil {
			add(s.Start, slow.Start, func(l watchers.Latency) { slow.Before = l })
			released := slow.Start.Add(slow.Length)
			add(slow.Start, released, func(l watchers.Latency) { slow.During = l })
			add(released, released.Add(slow.Waited), func(l watchers.Latency) { slow.After = l })
		}
	}
	if len(times) == 0 {
		return nil
	}
	effects, err := effect.Of(h.run.Dir, h.run.Record, times)
	if err != nil {
		return fmt.Errorf("compare latencies with numbers of watchers: %w", err)
	}
	for n, set := range of {
		set(watchers.Latency{Seconds: effects[n].Seconds, Requests: effects[n].Requests, P99: effects[n].P99})
	}
	return nil
}

// mark marks a run whose watchers missed events, or received some twice or in the wrong order.
func (h *Half) mark(o *watchers.Outcome) {
	c := &o.Counts
	first := func(f watchers.Fault) mark.Words {
		for _, w := range o.Witnesses {
			if w.Fault == f {
				return mark.Words{"first": fmt.Sprintf("watcher %d, version %d of key %d", w.Watcher, w.Version, w.Key)}
			}
		}
		return mark.Words{"first": "not recorded"}
	}
	if c.Lost > 0 {
		h.run.Mark(mark.WatchLost, mark.Values{"lost": float64(c.Lost), "delivered": float64(c.Delivered)}, first(watchers.Lost))
	}
	if c.Reordered > 0 && o.Ordered {
		h.run.Mark(mark.WatchReordered, mark.Values{"reordered": float64(c.Reordered), "delivered": float64(c.Delivered)}, first(watchers.Reordered))
	}
	if c.Duplicate > 0 {
		h.run.Mark(mark.WatchDuplicate, mark.Values{"duplicate": float64(c.Duplicate), "delivered": float64(c.Delivered)}, first(watchers.Duplicate))
	}
	if n := c.Behind + c.Unjudged; n > 0 || o.Broken != "" || o.BehindWhy != "" {
		why := cmp.Or(strings.Trim(o.Broken+"; "+o.BehindWhy, "; "), "watchers were too far behind for all to be kept")
		h.run.Mark(mark.WatchInPart, mark.Values{"missing": float64(n), "delivered": float64(c.Delivered)}, mark.Words{"why": why})
	}
}

var (
	_ abilities.Activity     = (*Half)(nil)
	_ abilities.Preparer     = (*Half)(nil)
	_ abilities.Watcher      = (*Half)(nil)
	_ abilities.WriteWatcher = (*Half)(nil)
	_ abilities.Ender        = (*Half)(nil)
	_ abilities.Finisher     = (*Half)(nil)
	_ abilities.Describer    = (*Half)(nil)
)
