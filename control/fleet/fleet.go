// Package fleet keeps the sessions of one run on its agents: it reserves the agents, has them
// install, start and stop their members, sends heartbeats, fetches their measurements, and gives
// them back.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coreos/dbtester/control/fleet/claim"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Options are the inputs to a fleet. They do not change after [New].
type Options struct {
	// Connect dials the agent at an address. The closer is called once.
	Connect func(ctx context.Context, addr string) (pb.AgentClient, io.Closer, error)
	// Agents are the addresses of the agents, by member; empty for clusters without agents.
	Agents []string
	// RunID identifies the sessions.
	RunID string
	// Owner names this control to people.
	Owner string
	// Version is the version of this control: agents with another version are refused. "" accepts
	// all agents, and an agent without a version is always accepted.
	Version string
	// Clients is the client count that heartbeats carry at first.
	Clients int
	// Report is called with every progress line, by one goroutine for each agent; nil discards
	// them.
	Report func(text string)
	// Losses records members found lost; nil makes a fleet without heartbeats.
	Losses *Losses
	// Clock is called with the time stamps from every answered heartbeat, by one goroutine at a
	// time; nil discards them.
	Clock func(clocks.Exchange)
	// Sample is called with the newest sample in each member's heartbeats, by one goroutine for
	// each agent; nil requests no samples. A sample may come twice, and one that cannot be decoded
	// is dropped: the file with all samples is fetched at the end.
	Sample func(member int, s results.Sample)
}

// Fleet holds the sessions of one run, one for each agent. Several goroutines may call its methods
// once Open has returned.
type Fleet struct {
	opts     Options
	sessions []*session // by member, after Connect
	resumed  bool       // another process opened the sessions
	clients  atomic.Int64
	// watching reports whether the members are known to run and no Stop was sent: if a member ends
	// now, it is lost.
	watching atomic.Bool

	mu     sync.Mutex
	clocks []clocks.Estimate // by member
}

// New returns a fleet without connections.
func New(o Options) *Fleet {
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Clock == nil {
		o.Clock = func(clocks.Exchange) {}
	}
	f := &Fleet{opts: o, clocks: make([]clocks.Estimate, len(o.Agents))}
	f.clients.Store(int64(o.Clients))
	return f
}

// Connect dials all agents at once and returns an error for each failed dial. Close closes the
// connections, even after an error.
func (f *Fleet) Connect(ctx context.Context) error {
	all := make([]*session, len(f.opts.Agents))
	for i := range all {
		all[i] = f.newSession(i)
	}
	errs := claim.Each(all, func(s *session) error { return s.Dial(ctx, f.opts.Connect) })
	f.sessions = slices.DeleteFunc(all, func(s *session) bool { return !s.Connected() })
	return errors.Join(errs...)
}

// newSession returns the session for member, without a connection.
func (f *Fleet) newSession(member int) *session {
	return &session{
		Session: remote.Session[pb.AgentClient]{Kind: "agent", Addr: f.opts.Agents[member], RunID: f.opts.RunID, Reserved: f.resumed},
		index:   member, version: f.opts.Version, nudge: make(chan struct{}, 1),
	}
}

// Reach requests the status of all agents at once and returns an error for each agent that does not
// answer or has another version.
func (f *Fleet) Reach(ctx context.Context) error {
	return f.each(func(s *session) error { return s.reach(ctx) })
}

// Open reserves the agents, the one with the lowest address first and then the others at once: of
// two controls that want the same agents, one gets all (package claim). It returns the first error
// in address order. An agent with another version is an error. takeOver, if not nil, describes
// members that an earlier run left running, as for Start. opened, if not nil, is called with each
// member's machine by this goroutine.
func (f *Fleet) Open(ctx context.Context, takeOver func(member int) *pb.StartRequest, opened func(member int, host *results.Host)) error {
	replies := make([]*pb.OpenResponse, len(f.sessions))
	giveBack := func(s *session) error { return s.close(ctx) }
	if takeOver != nil {
		giveBack = func(s *session) error { return s.leave(ctx) }
	}
	err := claim.All(ctx, remote.ByAddress(f.sessions), func(s *session) (err error) {
		var want *pb.StartRequest
		if takeOver != nil {
			want = takeOver(s.index)
		}
		replies[s.index], err = s.open(ctx, f.opts.Owner, want)
		return err
	}, giveBack)
	if err != nil || opened == nil {
		return err
	}
	for _, s := range remote.ByAddress(f.sessions) {
		host, err := remote.HostOf(replies[s.index].GetHost())
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		opened(s.index, host)
	}
	return nil
}

// Close releases the agents and closes the connections: the agent with the lowest address last, the
// others at once before it. Another control that gets this agent finds the others free. An agent
// whose member still runs stops it. If Collect could not write the files of a member, the agent
// keeps them until another run reserves it, which is a [*KeptError]. Other files that Collect did
// not fetch are lost, which is an error too.
func (f *Fleet) Close(ctx context.Context) error {
	return claim.Back(remote.ByAddress(f.sessions), func(s *session) error {
		defer s.Disconnect()
		if s.kept {
			return s.keep(ctx)
		}
		err := s.close(ctx)
		if err == nil && s.unfetched {
			err = fmt.Errorf("agent %s no longer has the records of member %d that were not fetched", s.Addr, s.index+1)
		}
		return err
	})
}

// Leave closes the connections and leaves the members running, for a run that takes them over. The
// order is as in Close.
func (f *Fleet) Leave(ctx context.Context) error {
	return claim.Back(remote.ByAddress(f.sessions), func(s *session) error {
		defer s.Disconnect()
		return s.leave(ctx)
	})
}

// RunID returns the id of the sessions.
func (f *Fleet) RunID() string { return f.opts.RunID }

// Agents returns the addresses of the agents, by member.
func (f *Fleet) Agents() []string { return slices.Clone(f.opts.Agents) }

// each calls do for all sessions at once and joins every error, ordered by member.
func (f *Fleet) each(do func(*session) error) error {
	return errors.Join(claim.Each(f.sessions, do)...)
}
