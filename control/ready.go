package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
)

const (
	probeEvery   = 100 * time.Millisecond
	probeTimeout = 5 * time.Second
)

// waitReady waits until every member serves as part of a quorum. The first member
// that dies ends the wait with the last lines of its log.
func (c *conductor) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.ReadyTimeout, fmt.Errorf("no quorum within %v", c.ReadyTimeout))
	defer cancel()
	probe := c.probeByAgent
	members := len(c.agents)
	if members == 0 {
		probe, members = c.probeDirectly, len(c.target.Endpoints)
	}
	errs := make([]error, members)
	var wg sync.WaitGroup
	for i := range members {
		wg.Go(func() {
			if errs[i] = c.waitMember(ctx, i, probe); errs[i] != nil && ctx.Err() == nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.run.Ready = time.Now().UTC()
	c.event("ready", -1, "")
	return nil
}

// errDead is a member that will never be ready.
type deadError struct{ text string }

func (e *deadError) Error() string { return e.text }

// waitMember polls one member until it is ready.
func (c *conductor) waitMember(ctx context.Context, i int, probe func(context.Context, int) error) error {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		err := probe(ctx, i)
		var dead *deadError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &dead):
			return err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return fmt.Errorf("member %d is not ready: %w; last answer: %w", i+1, cause, err)
			}
			return fmt.Errorf("member %d is not ready: %w", i+1, err)
		case <-ticker.C:
		}
	}
}

// probeByAgent asks a member's agent, which also knows whether it still runs.
func (c *conductor) probeByAgent(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	a := c.agents[i]
	reply, err := a.client.Status(ctx, &dbtesterpb.StatusRequest{Probe: true})
	if err != nil {
		return a.failed(err)
	}
	if reply.State == dbtesterpb.State_STATE_STOPPED || reply.State == dbtesterpb.State_STATE_IDLE {
		return &deadError{c.obituary(a, reply)}
	}
	if !reply.Ready {
		return errors.New(reply.NotReady)
	}
	return nil
}

// obituary tells how a member died, in its own last words.
func (c *conductor) obituary(a *agentSession, reply *dbtesterpb.StatusResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "member %d on %s died (%s)", a.index+1, a.addr, reply.Reason)
	for _, child := range reply.Children {
		if child.Tail != "" {
			fmt.Fprintf(&b, "\n%s: %s; its last lines:\n%s", child.Name, child.Exit, child.Tail)
		}
	}
	return b.String()
}

// probeDirectly asks a member of a cluster that no agent runs.
func (c *conductor) probeDirectly(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return c.driver.Ready(ctx, c.target, i)
}

// askMembers asks every member its version and which one leads. What a driver
// cannot tell stays unknown.
func (c *conductor) askMembers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if v, ok := c.driver.(database.Versioner); ok {
		for i := range c.run.Members {
			version, err := v.Version(ctx, c.target, i)
			if err != nil {
				return fmt.Errorf("version of member %d: %w", i+1, err)
			}
			c.run.Members[i].Version = version
		}
	}
	if l, ok := c.driver.(database.Leader); ok {
		leader, err := l.Leader(ctx, c.target)
		if err != nil {
			return fmt.Errorf("find the leader: %w", err)
		}
		c.run.Leader = leader
		c.event("leader", leader, "")
	}
	return nil
}
