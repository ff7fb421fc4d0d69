package shared

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Claim names the run that uses a prefix, and the keys below it from runs by the same owner. It
// lies below the prefix itself: whoever finds the prefix finds the claim.
type Claim struct {
	// Run identifies the run that uses the prefix, or used it last.
	Run string `json:"run"`
	// Owner is the user and the machine of that run.
	Owner string `json:"owner"`
	// Expires is when the run loses the prefix unless it renews the claim; zero if it ended.
	Expires time.Time `json:"expires,omitzero"`
	// Runs identify the runs whose keys are here, oldest first.
	Runs []string `json:"runs"`
	// Keys are the keys that the runs may have written.
	Keys workload.KeySpans `json:"keys"`
}

// Live reports whether the run still uses the prefix.
func (c *Claim) Live(now time.Time) bool { return c.Expires.After(now) }

// Of reports whether keys from a run are here.
func (c *Claim) Of(run string) bool { return c.Run == run || slices.Contains(c.Runs, run) }

// mostRuns bounds the runs that a claim names.
const mostRuns = 50

// join adds a run with keys to an earlier claim by the same owner.
func (c *Claim) join(earlier *Claim) {
	if earlier == nil {
		return
	}
	c.Keys = c.Keys.Add(earlier.Keys...)
	runs := append(slices.DeleteFunc(slices.Clone(earlier.Runs), func(id string) bool { return id == c.Run }), c.Runs...)
	c.Runs = runs[max(0, len(runs)-mostRuns):]
}

// encode returns the claim as it is stored.
func (c *Claim) encode() ([]byte, error) {
	text, err := json.Marshal(c)
	if err == nil && len(text) > database.MaxClaim {
		err = fmt.Errorf("it has %d bytes, more than %d", len(text), database.MaxClaim)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the claim of a prefix: %w", err)
	}
	return text, nil
}

// decodeClaim decodes a stored claim. Anyone may have written it.
func decodeClaim(text []byte) (*Claim, error) {
	if len(text) > database.MaxClaim {
		return nil, fmt.Errorf("the claim of the prefix has %d bytes, more than %d", len(text), database.MaxClaim)
	}
	c := &Claim{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("the claim of the prefix cannot be read: %w", err)
	}
	if c.Run == "" || c.Owner == "" {
		return nil, fmt.Errorf("the claim of the prefix names no run or no owner: %q", text)
	}
	c.Keys = c.Keys.Add() // merged, without empty spans
	return c, nil
}
