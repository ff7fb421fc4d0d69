package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/remote"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 5 * time.Second
)

// probes asks the members for their state.
type probes struct {
	run     *run
	fleet   *fleet.Fleet
	timeout time.Duration // for a quorum
}

// waitReady waits until every member serves in a quorum. The first member that dies ends the wait
// with the last lines of its log. After the timeout, the error holds the last answer of each
// member.
func (p *probes) waitReady(ctx context.Context) error {
	late := fmt.Errorf("no quorum within %v", p.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, late)
	defer cancel()
	probe := p.byAgent
	if len(p.run.db.Endpoints) > 0 {
		probe = p.directly
	}
	last := make([]error, len(p.run.record.Members))
	group, ctx := errgroup.WithContext(ctx)
	for i := range last {
		group.Go(func() error {
			return waitMember(ctx, func() error {
				err := probe(ctx, i)
				switch {
				case err == nil:
					last[i] = nil
				case ctx.Err() == nil: // otherwise the probe was cut short
					last[i] = fmt.Errorf("member %d: %w", i+1, err)
				}
				return err
			})
		})
	}
	switch err := group.Wait(); {
	case errors.Is(err, late):
		return errors.Join(late, errors.Join(last...))
	case err != nil:
		return err
	}
	p.run.record.Ready = time.Now().UTC()
	p.fleet.Watch()
	p.run.journal.event("ready", -1, "")
	return nil
}

// waitMember polls one member until it is ready or dead, or ctx ends.
func waitMember(ctx context.Context, probe func() error) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		err := probe()
		var dead *fleet.DeadError
		if err == nil || errors.As(err, &dead) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// byAgent asks the agent of member i, which also knows whether the member is running.
func (p *probes) byAgent(ctx context.Context, i int) error {
	ctx, cancel := remote.Within(ctx, probeTimeout)
	defer cancel()
	return p.fleet.Probe(ctx, i)
}

// directly asks a member in a cluster without agents.
func (p *probes) directly(ctx context.Context, i int) error {
	ctx, cancel := remote.Within(ctx, probeTimeout)
	defer cancel()
	err := p.run.driver.Ready(ctx, p.run.target, i)
	if _, class := database.Classify(err); class == database.ClassDenied {
		return &fleet.DeadError{Text: fmt.Sprintf("member %d on %s: %v", i+1, p.run.target.Endpoints[i], err)} // time won't change it
	}
	return err
}

// askMembers asks every member for its version and for the leader, and reports the
// answers. Facts that the driver cannot ask for stay unknown.
func (p *probes) askMembers(ctx context.Context) error {
	ctx, cancel := remote.Within(ctx, remote.CallTimeout)
	defer cancel()
	name, driver, target := p.run.asked()
	if v, ok := driver.(database.Versioner); ok && !p.run.mute {
		for i := range p.run.record.Members {
			version, err := v.Version(ctx, target, i)
			if err != nil {
				return fmt.Errorf("version of member %d: %w", i+1, err)
			}
			p.run.record.Members[i].Version = strings.TrimSpace(name + " " + version)
		}
	}
	if l, ok := driver.(database.Leader); ok && !p.run.mute {
		leader, err := l.Leader(ctx, target)
		if err != nil {
			return fmt.Errorf("find the leader: %w", err)
		}
		p.run.record.Leader = leader
		p.run.journal.event(results.EventLeader, leader, "")
	}
	say := p.run.journal.step
	if contradicted(p.run.record) {
		say = p.run.journal.say
	}
	say("%s", versions(p.run.record))
	return nil
}
