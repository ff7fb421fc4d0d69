package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// agentSession is this run's session on one agent.
type agentSession struct {
	index  int // of the member
	addr   string
	client dbtesterpb.AgentClient
	closer io.Closer
	runID  string
	opened bool
	start  *dbtesterpb.StartRequest
	reply  *dbtesterpb.StartResponse
}

// callTimeout bounds one call that has nothing to wait for.
const callTimeout = 10 * time.Second

// openAgents connects to the agents and reserves them, in the order of their
// addresses: of two controls that want the same agents, one gets them all.
func (c *conductor) openAgents(ctx context.Context) error {
	sessions, err := connect(ctx, c.Options, c.db)
	c.agents = sessions
	if err != nil {
		return err
	}
	for _, a := range c.agents {
		takeOver := ""
		if !c.db.Steps.Start {
			takeOver = c.db.Tag
		}
		reply, err := a.open(ctx, c.Owner, takeOver)
		if err != nil {
			return err
		}
		c.run.Members[a.index].Host = hostOf(reply.Host)
	}
	slices.SortFunc(c.agents, func(a, b *agentSession) int { return a.index - b.index })
	return nil
}

// connect connects to a database's agents and sorts them by address.
func connect(ctx context.Context, o Options, db *config.Database) ([]*agentSession, error) {
	runID := newRunID()
	var sessions []*agentSession
	for i, h := range db.Hosts {
		addr := h.Agent()
		client, closer, err := o.Connect(ctx, addr)
		if err != nil {
			return sessions, fmt.Errorf("agent %s: %w", addr, err)
		}
		sessions = append(sessions, &agentSession{index: i, addr: addr, client: client, closer: closer, runID: runID})
	}
	slices.SortStableFunc(sessions, func(a, b *agentSession) int { return cmp.Compare(a.addr, b.addr) })
	return sessions, nil
}

// open reserves the agent. TakeOver is the tag of a member that an earlier run
// left running, or "".
func (a *agentSession) open(ctx context.Context, owner, takeOver string) (*dbtesterpb.OpenResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := a.client.Open(ctx, &dbtesterpb.OpenRequest{RunId: a.runID, Owner: owner, TakeOver: takeOver})
	if err != nil {
		return nil, a.failed(err)
	}
	a.opened = true
	return reply, nil
}

// failed names the agent and drops gRPC's own words around the message.
func (a *agentSession) failed(err error) error {
	if s, ok := status.FromError(err); ok {
		return fmt.Errorf("agent %s: %s", a.addr, strings.TrimSpace(s.Message()))
	}
	return fmt.Errorf("agent %s: %w", a.addr, err)
}

// closeAgents gives the agents back. Members that were left running on purpose
// stay.
func (c *conductor) closeAgents(ctx context.Context) error {
	return each(c.agents, func(a *agentSession) error {
		if !c.db.Steps.Stop {
			return a.closer.Close()
		}
		return a.release(ctx)
	})
}

// startMembers has every agent start its member.
func (c *conductor) startMembers(ctx context.Context) error {
	if !c.db.Steps.Start { // an earlier run did
		c.beats.watching.Store(true)
		return nil
	}
	c.event("start", -1, "")
	err := each(c.agents, func(a *agentSession) error {
		ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
		defer cancel()
		a.start = startRequest(c.entry, c.db, a, c.firstClients())
		reply, err := a.client.Start(ctx, a.start)
		if err != nil {
			return a.failed(err)
		}
		a.reply = reply
		return nil
	})
	for _, a := range c.agents {
		if a.reply != nil {
			err = errors.Join(err, c.recordStart(a))
		}
	}
	c.beats.watching.Store(err == nil)
	return err
}

// firstClients is the number of clients of the first step.
func (c *conductor) firstClients() int {
	return c.plannedSteps()[0].Clients
}

// recordStart puts what an agent started into the manifest.
func (c *conductor) recordStart(a *agentSession) error {
	m := &c.run.Members[a.index]
	var plan database.Plan
	if err := json.Unmarshal(a.reply.Plan, &plan); err != nil {
		return fmt.Errorf("agent %s: decode plan: %w", a.addr, err)
	}
	m.Listen = plan.Listen
	for _, child := range a.reply.Children {
		m.Argv = append(m.Argv, child.Argv)
	}
	m.Disk = &results.Disk{
		ApparentBytes: -1, AllocatedBytes: -1, Filesystem: a.reply.DataFilesystem, Device: a.reply.DiskDevice,
		FsyncP50: time.Duration(a.reply.FdatasyncP50Ns),
	}
	c.run.LogRules = c.run.LogRules[:0]
	for _, r := range plan.LogRules {
		c.run.LogRules = append(c.run.LogRules, results.LogRule{Event: r.Event, Pattern: r.Pattern})
	}
	return nil
}

// stopMembers has the agents stop their members and brings home what they
// measured. One member stops after the other: a leader that goes tries to hand
// over, and would wait for partners that are stopping too.
func (c *conductor) stopMembers(ctx context.Context) error {
	c.beats.watching.Store(false)
	if !c.db.Steps.Stop {
		c.say("the cluster is left running")
		return nil
	}
	c.say("stop members")
	var errs []error
	for _, a := range c.agents {
		if !a.opened {
			continue
		}
		reply, err := a.client.Stop(ctx, &dbtesterpb.StopRequest{RunId: a.runID})
		if err != nil {
			errs = append(errs, a.failed(err))
			continue
		}
		c.recordStop(a, reply)
		c.event("stop", a.index, "")
	}
	c.say("collect measurements")
	return errors.Join(errors.Join(errs...), each(c.agents, func(a *agentSession) error {
		if !a.opened {
			return nil
		}
		return c.collect(ctx, a)
	}))
}

// recordStop puts an agent's last measurements into the manifest.
func (c *conductor) recordStop(a *agentSession, reply *dbtesterpb.StopResponse) {
	m := &c.run.Members[a.index]
	for _, child := range reply.Children {
		m.Exit = append(m.Exit, child.Name+": "+child.Exit)
	}
	if m.Disk == nil {
		m.Disk = &results.Disk{}
	}
	m.Disk.ApparentBytes, m.Disk.AllocatedBytes = reply.ApparentBytes, reply.AllocatedBytes
	if reply.Reason != "" && reply.Reason != "asked" {
		m.Error = reply.Reason
	}
}

// each runs f for all agents at once and joins every error.
func each(agents []*agentSession, f func(*agentSession) error) error {
	errs := make([]error, len(agents))
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() { errs[i] = f(a) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func hostOf(h *dbtesterpb.Host) *results.Host {
	if h == nil {
		return nil
	}
	return &results.Host{
		Name: h.Name, OS: h.Os, Kernel: h.Kernel, CPUModel: h.CpuModel, CPUs: int(h.Cpus),
		MemoryBytes: h.MemoryBytes, BootID: h.BootId, NetNS: h.NetNs,
	}
}
