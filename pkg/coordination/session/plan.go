package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/observation"
)

// Plan describes the sessions to hold and their ends.
type Plan = deaths.Plan

// Remote is another machine's record about the sessions that it held.
type Remote struct {
	// Machine names it, and Lost is why nothing is known about its sessions.
	Machine string
	Lost    error
	Part    Part
	Seconds []observation.Second
	// ClockError is to within what time its clock is known.
	ClockError time.Duration
}

// Decode decodes the record that the machine has encoded.
func (r *Remote) Decode(part, seconds []byte) error {
	if err := errors.Join(json.Unmarshal(part, &r.Part), json.Unmarshal(seconds, &r.Seconds)); err != nil {
		return fmt.Errorf("decode what became of its sessions: %w", err)
	}
	for _, s := range r.Seconds {
		if n := len(Observed().Values); len(s.Numbers) != n {
			return fmt.Errorf("a second of sessions has %d values, want %d", len(s.Numbers), n)
		}
	}
	return nil
}

// Observed describes what holders observe.
func Observed() observation.Group { return deaths.Observed() }

// Split returns plans for several machines that together hold the sessions of one plan. If holders
// die at a rate, each machine has the same share of the rate as of the sessions.
func Split(p Plan, machines int) (plans []Plan) {
	for i := range machines {
		own := p
		own.Held = (p.Held + machines - 1 - i) / machines
		if rate := p.Release.PerSecond(); rate > 0 {
			own.Release = deaths.Release(strconv.FormatFloat(rate*float64(own.Held)/float64(p.Held), 'g', -1, 64) + "/s")
		}
		plans = append(plans, own)
	}
	return plans
}

// Bounds on a plan that another program sends.
const (
	mostHeld = 200_000
	mostKeys = 100
)

// PlanOf decodes a plan that another program sends.
func PlanOf(data []byte) (p Plan, err error) {
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("decode the plan of sessions: %w", err)
	}
	switch {
	case p.Held < 0 || p.Held > mostHeld || p.Keys < 1 || p.Keys > mostKeys:
		return p, fmt.Errorf("sessions must be from 0 to %d with 1 to %d keys, got %d with %d", mostHeld, mostKeys, p.Held, p.Keys)
	case p.Keep <= 0 || p.TTL <= p.Keep || p.After < 0:
		return p, fmt.Errorf("sessions must be renewed within their TTL, got %v and %v, their end after %v", p.Keep, p.TTL, p.After)
	case p.Release != deaths.AllAtOnce && p.Release != deaths.Never && !(p.Release.PerSecond() > 0):
		return p, fmt.Errorf("the holders of sessions must die %s, %s or at a rate, got %q", deaths.AllAtOnce, deaths.Never, p.Release)
	}
	return p, nil
}
