package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 5 * time.Second
)

// waitReady waits until every member serves as part of a quorum. The first member
// that dies ends the wait with the last lines of its log; when the time is over,
// the error says what each member answered last.
func (c *conductor) waitReady(ctx context.Context) error {
	late := fmt.Errorf("no quorum within %v", c.ReadyTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.ReadyTimeout, late)
	defer cancel()
	probe := c.probeByAgent
	if len(c.agents) == 0 {
		probe = c.probeDirectly
	}
	last := make([]error, len(c.run.Members))
	group, ctx := errgroup.WithContext(ctx)
	for i := range last {
		group.Go(func() error {
			return waitMember(ctx, func() error {
				err := probe(ctx, i)
				switch {
				case err == nil:
					last[i] = nil
				case ctx.Err() == nil: // else it was cut short, and is no answer
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
	c.run.Ready = time.Now().UTC()
	c.beats.watching.Store(true)
	c.event("ready", -1, "")
	return nil
}

// deadError is that a member will never be ready.
type deadError struct{ text string }

func (e *deadError) Error() string { return e.text }

// waitMember polls one member until it is ready or dead, or ctx ends.
func waitMember(ctx context.Context, probe func() error) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		err := probe()
		var dead *deadError
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

// probeByAgent asks a member's agent, which also knows whether it still runs.
func (c *conductor) probeByAgent(ctx context.Context, i int) error {
	ctx, cancel := within(ctx, probeTimeout)
	defer cancel()
	a := c.agents[i]
	reply, err := a.client.Status(ctx, &dbtesterpb.StatusRequest{Probe: true})
	switch {
	case err != nil:
		return a.failed(ctx, err)
	case reply.State == dbtesterpb.State_STATE_STOPPED, reply.State == dbtesterpb.State_STATE_IDLE:
		why := cmp.Or(reply.Reason, "its agent knows nothing of this run any more")
		return &deadError{fmt.Sprintf("member %d on %s is gone: %s", i+1, a.addr, obituary(why, reply.Children))}
	case !reply.Ready:
		return errors.New(reply.NotReady)
	}
	return nil
}

// probeDirectly asks a member of a cluster that no agent runs.
func (c *conductor) probeDirectly(ctx context.Context, i int) error {
	ctx, cancel := within(ctx, probeTimeout)
	defer cancel()
	err := c.driver.Ready(ctx, c.target, i)
	if _, class := database.Classify(err); class == database.ClassDenied {
		return &deadError{fmt.Sprintf("member %d on %s: %v", i+1, c.target.Endpoints[i], err)} // time won't change it
	}
	return err
}

// askMembers asks every member its version and which one leads, and says it. What a
// driver cannot tell stays unknown.
func (c *conductor) askMembers(ctx context.Context) error {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	if v, ok := c.driver.(database.Versioner); ok && !c.mute {
		for i := range c.run.Members {
			version, err := v.Version(ctx, c.target, i)
			if err != nil {
				return fmt.Errorf("version of member %d: %w", i+1, err)
			}
			c.run.Members[i].Version = version
		}
	}
	if l, ok := c.driver.(database.Leader); ok && !c.mute {
		leader, err := l.Leader(ctx, c.target)
		if err != nil {
			return fmt.Errorf("find the leader: %w", err)
		}
		c.run.Leader = leader
		c.event(results.EventLeader, leader, "")
	}
	c.say("%s", reported(c.run))
	return nil
}
