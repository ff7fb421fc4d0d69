// Package locks has contenders compete for locks during a load.
package locks

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/coordination/lock"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// workers is the number of contenders that are opened or closed at the same time, and sharedWorkers
// that on clusters shared with others.
const (
	workers       = 32
	sharedWorkers = 4
)

// Event kinds.
const (
	eventStage = "contenders"
	eventDeath = "holder abandoned"
)

// Half has the contenders in one run.
type Half struct {
	run     *abilities.Run
	plan    locks.Plan
	facts   *database.LockFacts
	on      database.Locks // nil unless they were dialed
	contest *lock.Contest
	left    error // why locks remain; nil if they do not
}

// New returns the locks for r.
func New(r *abilities.Run) *Half {
	return &Half{run: r, plan: locks.Keys().Of(r.DB.Abilities), facts: database.LockFactsOf(r.Info, r.Driver)}
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "contend for locks" }

// stage returns the duration of each stage.
func (h *Half) stage() time.Duration { return h.plan.Stage(h.run.DB.Load) }

// Describe describes the contenders, their locks and the recipe.
func (h *Half) Describe() []string {
	if !h.plan.Wanted() || h.facts == nil {
		return nil
	}
	recipe, err := h.facts.Recipe(h.plan.Recipe)
	if err != nil {
		return []string{"locks: " + err.Error()}
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(h.plan.Contenders), " ", ", "), "[]")
	what := "a lock"
	if h.plan.Names > 1 {
		what = fmt.Sprintf("each of %d locks", h.plan.Names)
	}
	text := fmt.Sprintf("locks: after %v without any, %s contenders compete for %s for %v each, and hold it for %v; recipe %s by %s (%s)",
		h.stage().Round(time.Millisecond), numbers, what, h.stage().Round(time.Millisecond), h.plan.Hold, recipe.Name, recipe.By(), h.facts.What)
	if h.plan.Elect {
		earliest, latest := h.facts.Passes(recipe, h.plan.Options())
		text += fmt.Sprintf("; holders die, and %s passes their locks %v to %v later", h.run.DB.Name, earliest.Round(time.Millisecond), latest.Round(time.Millisecond))
	}
	if h.plan.Delays {
		text += fmt.Sprintf("; %s %v", h.facts.Delayed, h.plan.LockDelay)
	}
	if err := h.room(); err != nil {
		text += "; " + err.Error()
	}
	return []string{text}
}

// room returns an error if the contenders cannot have their connections: each may have one to each
// member, and one more.
func (h *Half) room() error {
	conns := h.plan.Most() * (max(len(h.run.DB.Hosts), len(h.run.DB.Endpoints)) + 1)
	return abilities.RoomFor(fmt.Sprintf("%d contenders may have %d connections", h.plan.Most(), conns), conns, abilities.OpenFiles())
}

// Prepare connects to the lock service.
func (h *Half) Prepare(ctx context.Context) (err error) {
	if !h.plan.Wanted() {
		return nil
	}
	dialer, ok := h.run.Driver.(database.LockDialer)
	if !ok || h.facts == nil {
		return fmt.Errorf("contend for locks: nobody can contend for those of %s: %s", h.run.DB.Name, h.run.Info.NoLocks)
	}
	if err := h.room(); err != nil {
		return fmt.Errorf("contend for locks: %w", err)
	}
	if h.on, err = dialer.DialLocks(ctx, *h.run.Target, h.plan.Options()); err != nil {
		return fmt.Errorf("dial for locks: %w", err)
	}
	n := workers
	if len(h.run.DB.Endpoints) > 0 {
		n = sharedWorkers
	}
	h.contest, err = lock.New(lock.Options{
		On: h.on, Facts: *h.facts, Plan: h.plan, Stage: h.stage(), Workers: n, Name: strings.ToLower(rand.Text()[:8]),
		Began: func(at time.Time, contenders int) {
			h.run.Event(results.Event{Time: at.UTC(), Kind: eventStage, Member: -1, Amount: float64(contenders), Unit: "contenders"})
			h.run.Step("%d contenders for locks", contenders)
		},
		Died: func(at time.Time) {
			h.run.Event(results.Event{Time: at.UTC(), Kind: eventDeath, Member: -1})
		},
	})
	return err
}

// Run has the contenders compete.
func (h *Half) Run(ctx context.Context) error {
	if h.contest == nil {
		return nil
	}
	return h.contest.Run(ctx)
}

// End ends the remaining contenders and removes their locks, so that they are not counted.
func (h *Half) End(ctx context.Context, _ abilities.Issued) {
	if h.contest != nil {
		h.contest.End(ctx)
	}
	if h.on != nil {
		h.left = h.on.Close()
	}
}

// Finish records the outcome of the locks.
func (h *Half) Finish() error {
	if h.contest == nil {
		return nil
	}
	seen := observation.NewRecorder(locks.Observed())
	o := h.contest.Outcome(func(name string, at time.Time, number int64) { seen.Add(name, at, h.run.StepAt(at), number) })
	if h.left != nil {
		o.Left, o.WhyLeft = o.Left+1, cmp.Or(o.WhyLeft, h.left.Error())
	}
	err := h.latencies(&o)
	h.mark(&o)
	return errors.Join(err, locks.WriteTurns(filepath.Join(h.run.Dir, locks.FileTurns), h.contest.Turns()),
		h.run.Observe(locks.Observed(), seen.Take(math.MaxInt64)), locks.Record().Set(&h.run.Record.Records, o))
}

// latencies measures requests in the whole seconds before the first stage, and within each stage.
func (h *Half) latencies(o *locks.Outcome) error {
	if len(o.Stages) == 0 {
		return nil
	}
	at := func(ns int64) time.Time { return o.Began.Add(time.Duration(ns)) }
	times := []results.Stretch{within(h.run.Record.LoadStart, at(o.Stages[0].From))}
	for _, s := range o.Stages {
		times = append(times, within(at(s.From), at(s.To)))
	}
	effects, err := effect.Of(h.run.Dir, h.run.Record, times)
	if err != nil {
		return fmt.Errorf("compare latencies with the stages of contenders: %w", err)
	}
	o.Before = effects[0].Latency()
	for i := range o.Stages {
		o.Stages[i].Meanwhile = effects[i+1].Latency()
	}
	return nil
}

// within returns the whole seconds between from and to, at least one.
func within(from, to time.Time) results.Stretch {
	from = from.Add(time.Second - 1).Truncate(time.Second)
	return results.Stretch{From: from, Length: max(to.Truncate(time.Second).Sub(from)-1, 0)}
}

// mark marks a run whose locks were not safe, or whose contenders did not all compete.
func (h *Half) mark(o *locks.Outcome) {
	safety, n := o.Safety()
	acquired := float64(n)
	var sum locks.Stage // sums the other counts of all stages
	for _, s := range o.Stages {
		sum.FailOver.Early += s.FailOver.Early
		sum.FailOver.Dead += s.FailOver.Dead
		sum.Missing += s.Missing
		sum.Refused += s.Refused + s.Unclear
		sum.Why = cmp.Or(sum.Why, s.Why, s.WhyRefused)
	}
	if safety.Overlaps > 0 {
		h.run.Mark(mark.LocksOverlap, mark.Values{"overlaps": float64(safety.Overlaps), "acquired": acquired}, mark.Words{"recipe": o.Plan.Recipe})
	}
	if safety.Disorder > 0 {
		h.run.Mark(mark.LocksFences, mark.Values{"disorder": float64(safety.Disorder), "acquired": acquired}, mark.Words{"fence": o.Fence})
	}
	if n := sum.FailOver.Early; n > 0 {
		h.run.Mark(mark.LocksEarly, mark.Values{"early": float64(n), "dead": float64(sum.FailOver.Dead)}, mark.Words{"rule": o.Rule})
	}
	if safety.Believed+safety.Lost > 0 {
		h.run.Mark(mark.LocksBelieved, mark.Values{"believed": float64(safety.Believed), "lost": float64(safety.Lost), "acquired": acquired}, nil)
	}
	if sum.Missing > 0 || sum.Refused > 0 || o.Left > 0 {
		counts := mark.Values{"missing": float64(sum.Missing), "refused": float64(sum.Refused), "left": float64(o.Left)}
		maps.DeleteFunc(counts, func(_ string, n float64) bool { return n == 0 })
		h.run.Mark(mark.LocksShort, counts, mark.Words{"why": cmp.Or(sum.Why, o.WhyLeft)})
	}
}

var (
	_ abilities.Activity  = (*Half)(nil)
	_ abilities.Preparer  = (*Half)(nil)
	_ abilities.Ender     = (*Half)(nil)
	_ abilities.Finisher  = (*Half)(nil)
	_ abilities.Describer = (*Half)(nil)
)
