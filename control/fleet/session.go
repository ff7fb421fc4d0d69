package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// session is the fleet's side of a session with one agent.
type session struct {
	remote.Session[pb.AgentClient]
	index int // index of the member
	// version is the version of this control; "" accepts agents with any version.
	version string
	nudge   chan struct{} // holds one request to send a heartbeat now
	// silent is since when probes have not reached the agent; zero if they do. Only one probe at
	// a time uses it.
	silent time.Time
	// ended is set once the agent has stopped the member.
	ended bool
	// kept is set if a file of the stopped member could not be written here, but may be later, and
	// unfetched if a file could not be fetched for another reason.
	kept, unfetched bool
}

// hurry requests a heartbeat now.
func (s *session) hurry() {
	select {
	case s.nudge <- struct{}{}:
	default: // one is due already
	}
}

// The time that agents may take to answer, if not [remote.CallTimeout]. Each call has its own
// bound, so an agent that hangs does not delay the others.
const (
	// startTimeout is for a Start, which probes the disk and spawns processes.
	startTimeout = 60 * time.Second
	// stopTimeout is for a Stop: longer than agents give their processes to stop.
	stopTimeout = 60 * time.Second
	// silentTimeout is the time for which the agent of a member may refuse every probe, or its
	// machine every connection, before the member counts as dead.
	silentTimeout = 3 * time.Second
	// stallTimeout is for the next piece of a file.
	stallTimeout = 15 * time.Second
	// installTimeout is for an install: the longest build takes a third of this.
	installTimeout = 30 * time.Minute
)

// open reserves the agent. takeOver describes a member left running by an earlier run, or is nil.
func (s *session) open(ctx context.Context, owner string, takeOver *pb.StartRequest) (*pb.OpenResponse, error) {
	var reply *pb.OpenResponse
	err := s.Reserve(ctx, remote.CallTimeout, func(ctx context.Context) (err error) {
		reply, err = s.Client.Open(ctx, &pb.OpenRequest{RunId: s.RunID, Owner: owner, TakeOver: takeOver})
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply, s.sameVersion(reply.GetVersion())
}

// sameVersion refuses agents with another version than this control: they may read requests
// differently, or measure something else under the same name.
func (s *session) sameVersion(agent string) error {
	if s.version == "" || agent == "" || agent == s.version {
		return nil
	}
	return fmt.Errorf("agent %s is dbtester %s, and this control is dbtester %s: install the same version on all machines", s.Addr, agent, s.version)
}

// reach requests the status of the agent, to learn its version and whether it answers.
func (s *session) reach(ctx context.Context) error {
	ctx, cancel := remote.Within(ctx, remote.CallTimeout)
	defer cancel()
	reply, err := s.Client.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return s.Failed(ctx, err)
	}
	return s.sameVersion(reply.GetVersion())
}

// close closes the session, if it was opened.
func (s *session) close(ctx context.Context) error {
	if !s.Reserved {
		return nil
	}
	ctx, cancel := remote.Within(ctx, remote.CallTimeout)
	defer cancel()
	if _, err := s.Client.Close(ctx, &pb.CloseRequest{RunId: s.RunID}); err != nil {
		return s.Failed(ctx, err)
	}
	s.Reserved = false
	return nil
}

// keep leaves the session files with the agent, which another run may reserve at once. It returns a
// [*KeptError].
func (s *session) keep(ctx context.Context) error {
	return errors.Join(&KeptError{Addr: s.Addr, Member: s.index}, s.leave(ctx))
}

// leave informs the agent that this run leaves its member running, or the files of a stopped
// member, if the session was opened. If the agent misses the call, it finds out after its lease.
func (s *session) leave(ctx context.Context) error {
	if !s.Reserved {
		return nil
	}
	ctx, cancel := remote.Within(ctx, remote.CallTimeout)
	defer cancel()
	if _, err := s.Client.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: s.RunID, Leaving: true}); err != nil {
		return s.Failed(ctx, err)
	}
	s.Reserved = false
	return nil
}
