// Package deaths holds sessions during a load, and lets their holders die.
package deaths

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/coordination/session"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
)

// workers is the number of concurrent requests for sessions, sharedWorkers that on clusters shared
// with others.
const (
	workers       = 64
	sharedWorkers = 8
)

// eventDeath is the event kind for holders that die.
const eventDeath = "sessions abandoned"

// Half holds the sessions in one run.
type Half struct {
	run    *abilities.Run
	plan   deaths.Plan
	facts  *database.SessionFacts
	on     database.Sessions // nil unless sessions were dialed
	holder *session.Holder
	seen   *observation.Live
	// outcome and written are known once the sessions were ended.
	outcome deaths.Outcome
	written error
	// parts has the records of generators that hold the sessions instead of this process.
	parts []session.Remote
	split bool
}

// New returns the sessions for r.
func New(r *abilities.Run) *Half {
	return &Half{run: r, plan: deaths.Keys().Of(r.DB.Abilities), facts: database.SessionFactsOf(r.Info, r.Driver)}
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "hold sessions" }

// generators returns the number that hold the sessions, 0 if this process does.
func (h *Half) generators() int {
	if h.run.Generators == nil {
		return 0
	}
	return h.run.Generators.Number()
}

// Describe returns the number of sessions to hold, and when their keys should be gone.
func (h *Half) Describe() []string {
	if h.plan.Held == 0 || h.facts == nil {
		return nil
	}
	ttl := h.facts.Granted(h.plan.TTL)
	earliest, latest := h.facts.Ends(ttl, h.plan.Held)
	text := fmt.Sprintf("sessions: %d with a TTL of %v are held and renewed every %v", h.plan.Held, ttl, h.plan.Keep.Round(time.Millisecond))
	if h.plan.Release != deaths.Never {
		text += fmt.Sprintf("; their holders die %v after the start of the load, %s; %s ends a session %v to %v after its last renewal (%s)",
			h.plan.After, h.plan.Release, h.run.DB.Name, earliest, latest, h.facts.Rule)
	}
	if n := h.generators(); n > 0 {
		text += fmt.Sprintf("; each of %d generators holds its part of them", n)
	} else if err := h.room(); err != nil {
		text += "; " + err.Error()
	}
	return []string{text}
}

// room returns an error if the sessions cannot have their connections.
func (h *Half) room() error {
	conns := 0
	if h.facts.Conns {
		conns = h.plan.Held
	}
	return abilities.RoomFor(fmt.Sprintf("%d sessions are as many connections", h.plan.Held), conns, abilities.OpenFiles())
}

// Prepare grants the sessions.
func (h *Half) Prepare(ctx context.Context) (err error) {
	if h.plan.Held == 0 {
		return nil
	}
	dialer, ok := h.run.Driver.(database.SessionDialer)
	if !ok || h.facts == nil {
		return fmt.Errorf("hold sessions: those of %s cannot be held: %s", h.run.DB.Name, h.run.Info.NoSessions)
	}
	n := workers
	if len(h.run.DB.Endpoints) > 0 {
		n = sharedWorkers
	}
	if machines := h.generators(); machines > 0 {
		h.run.Step("grant %d sessions over %d generators", h.plan.Held, machines)
		h.split = true
		return h.run.Generators.GrantSessions(ctx, session.Split(h.plan, machines), h.run.DB.Load.ValueSize, n)
	}
	if err := h.room(); err != nil {
		return fmt.Errorf("hold sessions: %w", err)
	}
	if h.on, err = dialer.DialSessions(ctx, *h.run.Target); err != nil {
		return fmt.Errorf("dial for sessions: %w", err)
	}
	h.seen = observation.NewLive(deaths.Observed(), h.run.Dir, time.Now())
	h.holder = session.New(session.Options{
		On: h.on, Facts: *h.facts, Plan: h.plan, ValueSize: h.run.DB.Load.ValueSize, Workers: n,
		Keys: keeper.NewKeys(),
		Seen: func(name string, at time.Time, number int64) { h.seen.Add(name, at, 0, number) },
		Died: func(at time.Time, held int) {
			h.run.Event(results.Event{Time: at.UTC(), Kind: eventDeath, Member: -1, Amount: float64(held), Unit: "sessions"})
		},
	})
	h.run.Step("grant %d sessions", h.plan.Held)
	return h.holder.Grant(ctx)
}

// Run lets the holders die.
func (h *Half) Run(ctx context.Context) error {
	if h.split {
		return h.run.Generators.HoldSessions(ctx)
	}
	if h.holder == nil {
		return nil
	}
	return h.holder.Run(ctx)
}

// End ends the remaining sessions, so that their keys are not counted.
func (h *Half) End(ctx context.Context, _ abilities.Issued) {
	if h.split {
		h.parts = h.run.Generators.EndSessions(ctx)
		for _, p := range h.parts {
			if death := p.Part.Death; !death.IsZero() {
				h.run.Event(results.Event{Time: death.UTC(), Kind: eventDeath, Member: -1, Amount: float64(p.Part.Granted), Unit: "sessions", Text: p.Machine})
			}
		}
	}
	if h.on == nil {
		return
	}
	if h.holder != nil {
		h.holder.End(ctx)
		h.outcome = h.holder.Outcome() // observes when each ended
		h.written = h.seen.Close()
	}
	_ = h.on.Close() // nothing is sent any more
}

// Finish records the outcome of the sessions.
func (h *Half) Finish() error {
	o, err := h.outcome, h.written
	switch {
	case h.holder != nil:
		err = errors.Join(err, h.run.Observed(h.seen.Stream()))
	case len(h.parts) > 0:
		var seconds []observation.Second
		o, seconds = h.merged()
		err = h.run.Observe(deaths.Observed(), seconds)
	default:
		return nil
	}
	err = errors.Join(err, h.latencies(&o))
	h.mark(&o)
	return errors.Join(err, deaths.Record().Set(&h.run.Record.Records, o))
}

// merged returns the outcome of the sessions on all generators.
func (h *Half) merged() (deaths.Outcome, []observation.Second) {
	var parts []session.Part
	var lists [][]observation.Second
	var clock time.Duration
	var lost []string
	for _, p := range h.parts {
		if p.Lost != nil {
			lost = append(lost, fmt.Sprintf("%s: %v", p.Machine, p.Lost))
			continue
		}
		parts, lists, clock = append(parts, p.Part), append(lists, p.Seconds), max(clock, p.ClockError)
	}
	o := session.Merge(h.plan, *h.facts, parts...)
	o.Machines, o.ClockError = len(h.parts), clock
	if len(lost) > 0 {
		o.Why = strings.Join(append([]string{"what became of the sessions of " + strings.Join(lost, ", ") + " is not known"}, nonEmpty(o.Why)...), "; ")
	}
	return o, deaths.Observed().Merge(lists...)
}

// nonEmpty returns text in a list, which is empty for "".
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// latencies compares requests in the seconds before the first death with those between the first
// and the last end of a session.
func (h *Half) latencies(o *deaths.Outcome) error {
	if o.Expired == 0 {
		return nil
	}
	times := []results.Stretch{{From: o.Death.Add(o.FirstGone), Length: o.AllGone - o.FirstGone}}
	start, alive := h.run.Record.LoadStart, o.Death.Truncate(time.Second).Add(-1) // when the last second without a death ends
	if !alive.Before(start) {
		times = append(times, results.Stretch{From: start, Length: alive.Sub(start)})
	}
	effects, err := effect.Of(h.run.Dir, h.run.Record, times)
	if err != nil {
		return fmt.Errorf("compare latencies with the ends of sessions: %w", err)
	}
	if o.During = effects[0].Latency(); len(effects) > 1 {
		o.Before = effects[1].Latency()
	}
	return nil
}

// mark marks a run whose sessions ended before they may, or were not all held.
func (h *Half) mark(o *deaths.Outcome) {
	if o.Early > 0 {
		h.run.Mark(mark.SessionsEarly, mark.Values{"early": float64(o.Early), "held": float64(o.Granted)}, mark.Words{"rule": o.Rule})
	}
	if n := o.Unrenewed + o.Missed; n > 0 {
		h.run.Mark(mark.SessionsLost, mark.Values{"lost": float64(n), "held": float64(o.Granted), "unanswered": float64(o.Unrenewed), "missed": float64(o.Missed)}, nil)
	}
	if o.NotGranted > 0 || o.Left > 0 {
		h.run.Mark(mark.SessionsShort, mark.Values{"not_granted": float64(o.NotGranted), "left": float64(o.Left), "wanted": float64(h.plan.Held)},
			mark.Words{"why": strings.Trim(o.Why+"; "+o.WhyLeft, "; ")})
	}
}

var (
	_ abilities.Activity  = (*Half)(nil)
	_ abilities.Preparer  = (*Half)(nil)
	_ abilities.Ender     = (*Half)(nil)
	_ abilities.Finisher  = (*Half)(nil)
	_ abilities.Describer = (*Half)(nil)
)
