package control

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/load/selfcheck"
	"github.com/coreos/dbtester/pkg/results"
)

// loadCheck measures the latency added by the client.
type loadCheck struct {
	run    *run
	server []string // see [Options].Mirror
	// save writes the manifest.
	save func() error
}

// do records the check. A check that fails is recorded with the reason and does not end
// the run.
func (c *loadCheck) do(ctx context.Context) error {
	r := c.run
	check, err := selfcheck.CheckLoad(ctx, selfcheck.LoadOptions{
		Server: c.server, Database: r.entry.Name, Driver: r.driver, Load: r.db.Load, Seed: r.experiment.Seed,
		Secured: r.db.TLS != nil || r.db.Auth != nil,
	})
	if err != nil {
		return err
	}
	r.record.SelfCheck = check
	say := r.journal.step
	if check.Unavailable != "" {
		say = r.journal.say
	}
	say("%s", loadCheckText(check))
	return c.save()
}

func loadCheckText(c *results.LoadCheck) string {
	if c.Unavailable != "" {
		return "no self-check of this load: " + c.Unavailable
	}
	round := func(ns int64) time.Duration { return time.Duration(ns).Round(time.Microsecond) }
	return fmt.Sprintf("this client adds %v at p50 and %v at p99 to a server's %v (%.0f requests/s, n %d)",
		round(c.P50.Added()), round(c.P99.Added()), c.Delay, c.RequestsPerSecond, c.P50.N)
}
