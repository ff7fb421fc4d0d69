package agent

import (
	"fmt"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errIdle reports that no session is open.
var errIdle = status.Error(codes.FailedPrecondition, "no session is open on this agent")

// own returns the session of the run and renews its lease. The error says why the run has no
// session.
func (a *Agent) own(run string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.session
	switch {
	case s == nil:
		return nil, errIdle
	case s.now.Run != run:
		return nil, s.now.refusal(codes.PermissionDenied)
	}
	s.now.Alive = time.Now()
	return s, nil
}

// refusal returns the error for another run. It names the owner. agent.mu is held.
func (now *sessionState) refusal(code codes.Code) error {
	more := ""
	if now.detached {
		more = fmt.Sprintf("; it runs %q detached, for a run that takes it over", now.tag)
	}
	return now.Refusal(code, "agent", more, now.ownerMessage())
}

// ownerMessage returns the session owner as a message. agent.mu is held.
func (now *sessionState) ownerMessage() *pb.Owner {
	m := now.Message()
	m.Tag, m.Detached = now.tag, now.detached
	return m
}

// leave records the last call from a control that leaves its member running, or the files of a
// stopped one.
func (s *session) leave() {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	switch {
	case s.now.state == pb.State_STATE_RUNNING:
		s.now.left, s.now.detached = true, true
	case s.over():
		s.now.expired = true
	}
}
