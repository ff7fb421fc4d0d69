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

	"google.golang.org/grpc/codes"
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
}

// How long an agent may take to answer. Each call has its own bound, so that an
// agent that hangs does not cost the others their turn.
const (
	// callTimeout is for calls that have nothing to wait for.
	callTimeout = 10 * time.Second
	// startTimeout is for a Start, which probes the disk and spawns processes.
	startTimeout = 60 * time.Second
	// stopTimeout is for a Stop: longer than an agent gives its processes.
	stopTimeout = 60 * time.Second
	// stallTimeout is for the next piece of a file.
	stallTimeout = 15 * time.Second
)

// within bounds a call and says so if that was too short.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v", d))
}

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

// connect connects to a database's agents and sorts them by address. The sessions
// are to be released, also after an error.
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
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	reply, err := a.client.Open(ctx, &dbtesterpb.OpenRequest{RunId: a.runID, Owner: owner, TakeOver: takeOver})
	a.opened = err == nil || ctx.Err() != nil // an Open that was not waited for may succeed yet
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	return reply, nil
}

// reach asks the agent for its status, only to see that it is there.
func (a *agentSession) reach(ctx context.Context) error {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	if _, err := a.client.Status(ctx, &dbtesterpb.StatusRequest{}); err != nil {
		return a.failed(ctx, err)
	}
	return nil
}

// release closes the session, if it was opened, and the connection.
func (a *agentSession) release(ctx context.Context) error {
	defer a.closer.Close()
	if !a.opened {
		return nil
	}
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	if _, err := a.client.Close(ctx, &dbtesterpb.CloseRequest{RunId: a.runID}); err != nil {
		return a.failed(ctx, err)
	}
	return nil
}

// releaseAll gives agents back, one after the other in the reverse of the order
// in which they are opened: another control that gets the first of them finds
// the others free.
func releaseAll(ctx context.Context, agents []*agentSession) error {
	agents = slices.Clone(agents)
	slices.SortStableFunc(agents, func(a, b *agentSession) int { return cmp.Compare(b.addr, a.addr) })
	var errs []error
	for _, a := range agents {
		errs = append(errs, a.release(ctx))
	}
	return errors.Join(errs...)
}

// failed names the agent and says why a call failed: why ctx ended, if it did,
// else what the agent said, without gRPC's words around it.
func (a *agentSession) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("agent %s: %w", a.addr, cause)
	}
	said := status.Convert(err)
	text := strings.TrimSpace(said.Message())
	if said.Code() == codes.DeadlineExceeded { // the agent's clock ran out first
		text = "no answer in time"
	}
	if dial, ok := strings.CutPrefix(text, `connection error: desc = "`); ok {
		dial = strings.TrimPrefix(strings.TrimSuffix(dial, `"`), "transport: Error while dialing: ")
		return fmt.Errorf("agent %s is not reached: %s", a.addr, dial)
	}
	return fmt.Errorf("agent %s: %s", a.addr, text)
}

// closeAgents gives the agents back. Members that were left running on purpose
// stay.
func (c *conductor) closeAgents(ctx context.Context) error {
	if c.leaves() {
		return each(c.agents, func(a *agentSession) error { return a.closer.Close() })
	}
	if err := releaseAll(ctx, c.agents); err != nil {
		return fmt.Errorf("close agents: %w", err)
	}
	return nil
}

// leaves tells whether the cluster is left running: if that was asked for and it
// came to run at all.
func (c *conductor) leaves() bool { return !c.db.Steps.Stop && !c.run.Ready.IsZero() }

// startMembers has every agent start its member.
func (c *conductor) startMembers(ctx context.Context) error {
	if !c.db.Steps.Start { // an earlier run did
		return nil
	}
	c.event("start", -1, "")
	replies := make([]*dbtesterpb.StartResponse, len(c.agents))
	err := each(c.agents, func(a *agentSession) (err error) {
		ctx, cancel := within(ctx, startTimeout)
		defer cancel()
		if replies[a.index], err = a.client.Start(ctx, startRequest(c.Experiment, c.entry, c.db, a, c.firstClients())); err != nil {
			return a.failed(ctx, err)
		}
		return nil
	})
	for _, a := range c.agents {
		if reply := replies[a.index]; reply != nil {
			err = errors.Join(err, c.recordStart(a, reply))
		}
	}
	return err
}

// firstClients is the number of clients of the first step.
func (c *conductor) firstClients() int {
	return c.plannedSteps()[0].Clients
}

// recordStart puts what an agent started into the manifest.
func (c *conductor) recordStart(a *agentSession, reply *dbtesterpb.StartResponse) error {
	m := &c.run.Members[a.index]
	var plan database.Plan
	if err := json.Unmarshal(reply.Plan, &plan); err != nil {
		return fmt.Errorf("agent %s: decode plan: %w", a.addr, err)
	}
	m.Listen = plan.Listen
	m.Release = releaseOf(reply.Release)
	c.run.Built = builtOf(reply, plan)
	c.mute = c.mute || plan.Mute
	for _, child := range reply.Children {
		m.Argv = append(m.Argv, child.Argv)
	}
	c.disks[a.index] = results.Disk{
		Filesystem: reply.DataFilesystem, Device: reply.DiskDevice, FsyncP50: time.Duration(reply.FdatasyncP50Ns),
	}
	c.run.LogRules = c.run.LogRules[:0]
	for _, r := range plan.LogRules {
		c.run.LogRules = append(c.run.LogRules, results.LogRule{Event: r.Event, Pattern: r.Pattern})
	}
	return nil
}

// stopMembers has the agents stop their members, unless they are left running,
// and brings home what they measured.
func (c *conductor) stopMembers(ctx context.Context) error {
	expected := c.beats.watching.Swap(false)
	var errs []error
	if c.leaves() {
		c.say("the cluster is left running")
	} else {
		c.say("stop members")
		// One after the other: a leader that goes tries to hand over, and would wait
		// for partners that are stopping too.
		for _, a := range c.agents {
			if a.opened {
				errs = append(errs, c.stopMember(ctx, a, expected))
			}
		}
	}
	c.say("collect measurements")
	errs = append(errs, each(c.agents, func(a *agentSession) error {
		if !a.opened {
			return nil
		}
		return c.collect(ctx, a)
	}))
	return errors.Join(errs...)
}

// stopMember stops one member. Expected says that it was running for all we know.
func (c *conductor) stopMember(ctx context.Context, a *agentSession, expected bool) error {
	ctx, cancel := within(ctx, stopTimeout)
	defer cancel()
	reply, err := a.client.Stop(ctx, &dbtesterpb.StopRequest{RunId: a.runID})
	if err != nil {
		return fmt.Errorf("stop member %d: %w", a.index+1, a.failed(ctx, err))
	}
	m := &c.run.Members[a.index]
	for _, child := range reply.Children {
		m.Exit = append(m.Exit, child.Name+": "+child.Exit)
	}
	if reply.ApparentBytes >= 0 {
		disk := c.disks[a.index]
		disk.ApparentBytes, disk.AllocatedBytes = reply.ApparentBytes, reply.AllocatedBytes
		m.Disk = &disk
	}
	if reason := cmp.Or(reply.Reason, "its agent knows nothing of this run any more"); reason != "asked" {
		m.Error = reason
		if expected { // and no heartbeat noticed
			c.lose(a.index, obituary(reason, reply.Children))
		}
	}
	c.event("stop", a.index, "")
	return nil
}

// obituary tells why a member is gone and how each of its processes ended, in
// their own last words.
func obituary(reason string, children []*dbtesterpb.Child) string {
	var b strings.Builder
	b.WriteString(reason)
	for _, child := range children {
		if child.Running {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s", child.Name, child.Exit)
		if child.Tail != "" {
			fmt.Fprintf(&b, "; its last lines:\n%s", strings.TrimRight(child.Tail, "\n"))
		}
	}
	return b.String()
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
