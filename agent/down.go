package agent

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// change asks the session's goroutine to take its member down or to bring it up.
type change struct {
	down bool
	done chan error // has room for the one answer
}

// setDown kills the member on purpose, or starts it again on the data that it
// left. A member that is down does not end its session: the session stays running,
// keeps sampling, and can be stopped and collected from as always. setDown returns
// when the commands have ended, or listen again.
func (s *session) setDown(ctx context.Context, down bool) error {
	if state := s.snapshot().state; state != pb.State_STATE_RUNNING {
		return status.Errorf(codes.FailedPrecondition, "the session must be running to take its member down or up; it is %s", stateWord(state))
	}
	c := &change{down: down, done: make(chan error, 1)}
	select {
	case s.changes <- c:
	case <-s.ctx.Done():
		return s.abortedChange()
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-s.ended:
		return s.abortedChange()
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// abortedChange is the answer to a change that the session's end overtook.
func (s *session) abortedChange() error {
	return status.Errorf(codes.Aborted, "the session stopped: %s", s.reason())
}

// isDown reports whether the member is down on purpose.
func (s *session) isDown() bool {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return s.now.down
}

func (s *session) setDownFlag(down bool) {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	s.now.down = down
}
