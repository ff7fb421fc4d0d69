package agent

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// Open reserves the agent for one run. It is refused while another run has a session
// that is neither closed nor expired; a detached session can be taken over.
func (v service) Open(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
	a := v.agent
	if err := cmp.Or(tenant.CheckRun(req.GetRunId()), tenant.CheckName("owner", req.GetOwner())); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	for {
		old, err := a.open(ctx, req)
		if err != nil {
			return nil, err
		}
		if old == nil {
			if s, err := a.own(req.GetRunId()); err == nil && req.GetTakeOver() != nil {
				s.record() // a restart must know the session by its new run
			}
			return &pb.OpenResponse{Host: a.host, Version: a.opts.Version}, nil
		}
		if err := a.release(ctx, old); err != nil {
			return nil, err
		}
	}
}

// open opens a session, or returns the abandoned session to release first.
//
// A call that has ended is refused under the lock: its control may have sent the Close already,
// and then no one would own the session until its lease expires.
func (a *Agent) open(ctx context.Context, req *pb.OpenRequest) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.session
	switch {
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case a.closed:
		return nil, status.Error(codes.Unavailable, "the agent is closing")
	case s != nil && !s.now.removing && s.now.Run == req.GetRunId():
		s.now.Alive = time.Now()
		return nil, nil
	case req.GetTakeOver() != nil:
		return nil, s.takeOver(req)
	case s == nil:
		a.session = newSession(a, req.GetRunId(), req.GetOwner())
		return nil, nil
	case s.now.expired || s.now.removing:
		return s, nil
	default:
		return nil, s.now.refusal(codes.FailedPrecondition)
	}
}

// Close ends the session and removes its directory. On an idle agent it does nothing.
func (v service) Close(ctx context.Context, req *pb.CloseRequest) (*pb.CloseResponse, error) {
	s, err := v.agent.own(req.GetRunId())
	if errors.Is(err, errIdle) {
		return &pb.CloseResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := v.agent.release(ctx, s); err != nil {
		return nil, err
	}
	return &pb.CloseResponse{}, nil
}

// release stops a session, removes its directory and frees the agent. If several callers come at
// once, one does it and the others wait.
func (a *Agent) release(ctx context.Context, s *session) error {
	s.end(reasonAsked)
	if err := wait(ctx, "stop session", s.ended); err != nil {
		return err
	}
	a.mu.Lock()
	first := !s.now.removing
	s.now.removing = true
	a.mu.Unlock()
	if !first {
		return wait(ctx, "remove session", s.gone)
	}
	s.drop(reasonAsked)
	// A record that is being written would reappear in the directory.
	s.recording.Lock()
	if err := a.runs.End(); err != nil {
		s.log.Warn("close the log of the session", "error", err)
	}
	err := a.remove(s.now.dir)
	s.recording.Unlock()
	a.mu.Lock()
	a.last, a.session = s.seen(), nil
	a.mu.Unlock()
	close(s.gone)
	return err
}

// remove removes a session directory below the work directory.
func (a *Agent) remove(dir string) error {
	if dir == "" {
		return nil
	}
	if err := a.root.RemoveAll(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return status.Errorf(codes.Internal, "remove session directory: %v", err)
	}
	return nil
}
