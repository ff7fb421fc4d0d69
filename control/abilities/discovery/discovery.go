// Package discovery registers service instances during a load, and has consumers follow them.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/coordination/keeper"
	"github.com/coreos/dbtester/pkg/coordination/service"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/observation"
)

// workers is the number of concurrent requests for sessions, sharedWorkers that on clusters shared
// with others.
const (
	workers       = 64
	sharedWorkers = 8
)

// Half has the instances and consumers in one run.
type Half struct {
	run     *abilities.Run
	plan    discovery.Plan
	facts   *database.SessionFacts
	service *service.Service // nil unless instances were registered
	seen    *observation.Live
	// outcome and written are known once the registrations were ended.
	outcome discovery.Outcome
	written error
}

// New returns the instances and consumers for r.
func New(r *abilities.Run) *Half {
	plan := discovery.Keys().Of(r.DB.Abilities)
	facts, _ := plan.FactsOf(r.Info, r.Driver) // a plan whose instances cannot register is refused with the file
	return &Half{run: r, plan: plan, facts: facts}
}

// Name implements [abilities.Activity].
func (h *Half) Name() string { return "register instances" }

// wanted reports whether there are instances.
func (h *Half) wanted() bool { return h.plan.Wanted() && h.facts != nil }

// Describe returns the number of instances, and when their deaths should be known.
func (h *Half) Describe() []string {
	if !h.wanted() {
		return nil
	}
	p, ttl := h.plan, h.facts.Granted(h.plan.TTL)
	earliest, latest := h.facts.Ends(ttl, 1)
	text := fmt.Sprintf("discovery: %d instances register by a %s with a TTL of %v, renewed every %v, and %d consumers watch them; from %v to %v after the start of the load %d die and %d are deployed; %s ends a session %v to %v after its last renewal (%s)",
		p.Instances, h.facts.What, ttl, p.Keep.Round(time.Millisecond), p.Consumers, p.After, p.After+p.Within, p.Deaths, p.Deploys, h.run.DB.Name, earliest, latest, h.facts.Rule)
	if p.Elections > 0 {
		text += fmt.Sprintf("; the instances elect a leader, which dies %d times", p.Elections)
	}
	if p.Notice > 0 {
		text += fmt.Sprintf("; all are to know of a death within %v", p.Notice)
		if latest > p.Notice {
			text += ", which its rule does not keep"
		}
	}
	if err := h.room(); err != nil {
		text += "; " + err.Error()
	}
	return []string{text}
}

// room returns an error if instances and consumers cannot have their connections.
func (h *Half) room() error {
	conns := 2 * h.plan.Consumers // one for requests, and one to watch
	if h.facts.Conns {
		conns += h.plan.Instances
	}
	if h.plan.Elections > 0 {
		conns += 2 * h.plan.Instances // each follows the leader
	}
	return abilities.RoomFor(fmt.Sprintf("%d instances and %d consumers have %d connections", h.plan.Instances, h.plan.Consumers, conns), conns, abilities.OpenFiles())
}

// dial opens connection n, to one member after the other.
func (h *Half) dial(ctx context.Context, n int) (database.Sessions, error) {
	target := *h.run.Target
	target.Prefer = n % len(target.Endpoints)
	return h.plan.Dial(ctx, h.run.Driver, target)
}

// Prepare registers the instances, and starts all consumer watches.
func (h *Half) Prepare(ctx context.Context) error {
	if !h.wanted() {
		return nil
	}
	if err := h.room(); err != nil {
		return fmt.Errorf("register instances: %w", err)
	}
	n := workers
	if len(h.run.DB.Endpoints) > 0 {
		n = sharedWorkers
	}
	h.seen = observation.NewLive(discovery.Observed(), h.run.Dir, time.Now())
	h.service = service.New(service.Options{
		Dial: h.dial, Facts: *h.facts, Plan: h.plan, Seed: h.run.Experiment.Seed, ValueSize: h.run.DB.Load.ValueSize, Workers: n,
		Keys: keeper.NewKeys(),
		Seen: func(name string, at time.Time, number int64) { h.seen.Add(name, at, 0, number) },
	})
	if err := h.plan.Await(ctx, h.run.Driver, *h.run.Target); err != nil {
		return err
	}
	h.run.Step("register %d instances, which %d consumers watch", h.plan.Instances, h.plan.Consumers)
	if err := h.service.Register(ctx); err != nil {
		return err
	}
	return h.service.Follow(ctx)
}

// Run lets instances die and deploys them.
func (h *Half) Run(ctx context.Context) error {
	if h.service == nil {
		return nil
	}
	return h.service.Run(ctx)
}

// End ends the remaining registrations, so that their keys are not counted.
func (h *Half) End(ctx context.Context, _ abilities.Issued) {
	if h.service != nil {
		h.service.End(ctx)
		h.outcome = h.service.Outcome() // observes when each change was known
		h.written = h.seen.Close()
	}
}

// Finish records the outcome of the instances.
func (h *Half) Finish() error {
	if h.service == nil {
		return nil
	}
	o := h.outcome
	h.mark(&o)
	return errors.Join(h.written, h.run.Observed(h.seen.Stream()), discovery.Record().Set(&h.run.Record.Records, o))
}

// mark marks a run in which consumers received wrong changes, or missed some.
func (h *Half) mark(o *discovery.Outcome) {
	if o.Early > 0 {
		h.run.Mark(mark.InstancesEarly, mark.Values{"early": float64(o.Early), "alive": float64(o.Alive), "registered": float64(o.Registered.Registered)}, mark.Words{"rule": o.Rule})
	}
	if o.Lost > 0 {
		first := "not recorded"
		for _, w := range o.Witnesses {
			if w.Fault == discovery.Lost {
				first = fmt.Sprintf("consumer %d of instance %d", w.Consumer, w.Instance)
				break
			}
		}
		h.run.Mark(mark.ChangesLost, mark.Values{"lost": float64(o.Lost), "told": float64(o.Told)}, mark.Words{"first": first})
	}
	why := o.Why
	for _, c := range o.Changes {
		if why == "" {
			why = c.Why
		}
	}
	why = strings.Trim(strings.Join([]string{why, o.BrokenWhy, o.BehindWhy, o.WhyLeft}, "; "), "; ")
	if why != "" || o.NotRegistered+o.Unrenewed+o.Missed+o.Broken+o.Behind+o.Left > 0 {
		if why == "" {
			why = "no error was seen"
		}
		h.run.Mark(mark.DiscoveryInPart, mark.Values{
			"not_registered": float64(o.NotRegistered), "wanted": float64(h.plan.Instances), "unanswered": float64(o.Unrenewed), "missed": float64(o.Missed),
			"broken": float64(o.Broken), "behind": float64(o.Behind), "left": float64(o.Left),
		}, mark.Words{"why": why})
	}
}

var (
	_ abilities.Activity  = (*Half)(nil)
	_ abilities.Preparer  = (*Half)(nil)
	_ abilities.Ender     = (*Half)(nil)
	_ abilities.Finisher  = (*Half)(nil)
	_ abilities.Describer = (*Half)(nil)
)
