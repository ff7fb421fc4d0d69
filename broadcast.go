package dbtester

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// Operation is a request by [Config.BroadcastRequest] to all agents for a database.
type Operation int

// Start makes agents start the members, Stop makes them stop the members and measure their data,
// Heartbeat checks whether the members run.
const (
	Start Operation = iota
	Stop
	Heartbeat
)

// String returns the operation's name.
func (o Operation) String() string {
	switch o {
	case Start:
		return "Start"
	case Stop:
		return "Stop"
	case Heartbeat:
		return "Heartbeat"
	}
	return fmt.Sprintf("Operation(%d)", int(o))
}

// Response is the answer from the agent of one member.
type Response struct {
	// Success means after a Start that the member runs and a quorum serves, and after a
	// Heartbeat that the member runs and waits for a Stop. After a Stop it means that this
	// member was stopped and measured, whether or not the others were.
	Success bool
	// DiskSpaceUsageBytes is the apparent size of the data directories after a Stop; -1 if it was
	// not measured, and after other operations.
	DiskSpaceUsageBytes int64
	// Endpoint is the address at which clients reach the member. Folder has the database records,
	// with the logs and samples from the member. Both are "" after a Heartbeat.
	Endpoint, Folder string
}

// heartbeatTimeout bounds how long one agent may take to answer a Heartbeat.
const heartbeatTimeout = 10 * time.Second

// BroadcastRequest makes all agents for the database with that id start its members, stop them, or
// report whether they run. It returns the responses by member index, from 0, even with an error;
// they are nil if nothing was begun. The error names every agent that failed.
//
// Start returns when a quorum serves. From then on the members run without a lease until a
// Stop, even after this process ends. Stop first waits up to [control.DefaultReadyTimeout]
// for a quorum, then collects logs and samples. It also stops members without a quorum,
// with an error. Start and Stop each make a result folder.
//
// The id must name one database, or one point in a sweep, that agents run.
func (c *Config) BroadcastRequest(ctx context.Context, id string, op Operation) (map[int]Response, error) {
	e, db, err := c.one(id)
	if err != nil {
		return nil, err
	}
	if len(db.Endpoints) > 0 {
		return nil, fmt.Errorf("%s runs without agents: it can be neither started nor stopped", id)
	}
	switch op {
	case Start:
		db.Steps = config.Steps{Start: true}
	case Stop:
		db.Steps = config.Steps{Stop: true}
	case Heartbeat:
		e.Generators = nil // they are not asked
		if e, err = control.Named(ctx, e); err != nil {
			return nil, err
		}
		return c.heartbeat(ctx, &e.Databases[0])
	default:
		return nil, fmt.Errorf("the operation must be Start, Stop or Heartbeat, got %v", op)
	}
	out, err := c.conduct(ctx, e, c.Report)
	responses, unread := responsesOf(out, op)
	return responses, errors.Join(err, unread)
}

// BroadcaseRequest is BroadcastRequest.
//
// Deprecated: Use [Config.BroadcastRequest], which is spelled correctly.
func (c *Config) BroadcaseRequest(ctx context.Context, id string, op Operation) (map[int]Response, error) {
	return c.BroadcastRequest(ctx, id, op)
}

// Stress applies the load to the members of the database with that id, which a Start by
// [Config.BroadcastRequest] left running, and leaves them running. A cluster without agents needs
// no Start. The outcome has one result folder; it is nil if the id does not name one database.
func (c *Config) Stress(ctx context.Context, id string) (*control.Outcome, error) {
	e, db, err := c.one(id)
	if err != nil {
		return nil, err
	}
	// A cluster without agents counts as started by the run: it has only the run's keys.
	db.Steps = config.Steps{Start: len(db.Endpoints) > 0, Load: true}
	return c.conduct(ctx, e, c.Report)
}

// ToRequest returns the message by which control requests an operation from the agent of one
// member, without a run id: a *[dbtesterpb.StartRequest], *[dbtesterpb.StopRequest] or
// *[dbtesterpb.HeartbeatRequest]. Members count from 0.
func (c *Config) ToRequest(id string, op Operation, member int) (proto.Message, error) {
	e, db, err := c.one(id)
	if err != nil {
		return nil, err
	}
	start, err := control.StartRequest(e, c.registry, db, member)
	if err != nil {
		return nil, err
	}
	switch op {
	case Start:
		return start, nil
	case Stop:
		return &dbtesterpb.StopRequest{}, nil
	case Heartbeat:
		return &dbtesterpb.HeartbeatRequest{Clients: start.GetClients()}, nil
	default:
		return nil, fmt.Errorf("the operation must be Start, Stop or Heartbeat, got %v", op)
	}
}

// responsesOf returns the recorded responses to a Start or a Stop, nil if the operation was refused
// before it began.
func responsesOf(out *control.Outcome, op Operation) (map[int]Response, error) {
	if len(out.Folders) == 0 {
		return nil, nil
	}
	folder, err := results.Open(out.Folders[0])
	if err != nil {
		return nil, err
	}
	manifest, err := folder.Manifest()
	if err != nil {
		return nil, err
	}
	responses := map[int]Response{}
	for _, run := range manifest.Databases {
		for _, m := range run.Members {
			r := Response{DiskSpaceUsageBytes: -1, Endpoint: m.Endpoint, Folder: folder.Path(run.Tag)}
			if m.Disk != nil {
				r.DiskSpaceUsageBytes = m.Disk.ApparentBytes
			}
			done := run.State == results.StateComplete
			if op == Stop {
				done = m.Disk != nil
			}
			r.Success = done && m.Error == ""
			responses[m.Index] = r
		}
	}
	return responses, nil
}

// heartbeat asks all agents for db at once whether they run its members.
func (c *Config) heartbeat(ctx context.Context, db *config.Database) (map[int]Response, error) {
	errs := make([]error, len(db.Hosts))
	var wg sync.WaitGroup
	for i, h := range db.Hosts {
		wg.Go(func() { errs[i] = c.beat(ctx, h.Agent(), db.Tag) })
	}
	wg.Wait()
	responses := map[int]Response{}
	for i, err := range errs {
		responses[i] = Response{Success: err == nil, DiskSpaceUsageBytes: -1}
	}
	return responses, errors.Join(errs...)
}

// beat returns an error unless the agent runs a member of the database with that tag for a Stop to
// take over.
func (c *Config) beat(ctx context.Context, addr, tag string) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	conn, err := c.connect(addr)
	if err != nil {
		return fmt.Errorf("agent %s: %w", addr, err)
	}
	defer conn.Close()
	status, err := dbtesterpb.NewAgentClient(conn).Status(ctx, &dbtesterpb.StatusRequest{})
	if err != nil {
		return fmt.Errorf("agent %s: %w", addr, err)
	}
	switch owner := status.GetOwner(); {
	case status.GetState() != dbtesterpb.State_STATE_RUNNING || owner.GetTag() != tag:
		return fmt.Errorf("agent %s runs no member of %q", addr, tag)
	case !owner.GetDetached():
		return fmt.Errorf("agent %s runs its member of %q for a run of %s, which stops it", addr, tag, owner.GetName())
	}
	return nil
}
