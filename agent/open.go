package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

var validRun = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// maxOwner bounds the text that names an owner, in bytes.
const maxOwner = 256

// Open reserves the agent for one run. The session of another run is in the way
// until it is closed or its lease has expired; a detached one can be taken over.
func (v service) Open(ctx context.Context, req *pb.OpenRequest) (*pb.OpenResponse, error) {
	a := v.agent
	if !validRun.MatchString(req.GetRunId()) {
		return nil, status.Errorf(codes.InvalidArgument, "run id %q is not 1 to 64 letters, digits, - and _", req.GetRunId())
	}
	if !printable(req.GetOwner(), maxOwner) {
		return nil, status.Errorf(codes.InvalidArgument, "owner is not printable or longer than %d bytes", maxOwner)
	}
	for {
		old, err := a.open(req)
		if err != nil {
			return nil, err
		}
		if old == nil {
			if s, err := a.own(req.GetRunId()); err == nil && req.GetTakeOver() != "" {
				s.record() // a restart must know the session by its new run
			}
			return &pb.OpenResponse{Host: a.hostMessage(), Version: a.opts.Version}, nil
		}
		if err := a.release(ctx, old); err != nil {
			return nil, err
		}
	}
}

// open opens a session, or returns the abandoned one to release first.
func (a *Agent) open(req *pb.OpenRequest) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, tag := a.session, req.GetTakeOver()
	switch {
	case a.closed:
		return nil, status.Error(codes.Unavailable, "the agent is closing")
	case s != nil && !s.removing && s.run == req.GetRunId():
		s.alive = time.Now()
		return nil, nil
	case tag != "" && s != nil && s.detached && s.tag == tag && s.state == pb.State_STATE_RUNNING:
		s.log.Info("session taken over", "by", req.GetRunId(), "owner", req.GetOwner())
		s.run, s.owner, s.alive = req.GetRunId(), req.GetOwner(), time.Now()
		return nil, nil
	case tag != "":
		return nil, status.Errorf(codes.FailedPrecondition, "no detached session of %q is running on this agent", tag)
	case s == nil:
		a.session = a.newSession(req.GetRunId(), req.GetOwner())
		return nil, nil
	case s.expired || s.removing:
		return s, nil
	default:
		return nil, s.refusal(codes.FailedPrecondition)
	}
}

// Close ends the session and removes its directory. An agent that is idle
// already is as it should be.
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

// release stops a session, removes its directory and makes the agent free. Of
// several callers one does it and the others wait.
func (a *Agent) release(ctx context.Context, s *session) error {
	s.end(reasonAsked)
	if err := wait(ctx, "stop session", s.ended); err != nil {
		return err
	}
	a.mu.Lock()
	first := !s.removing
	s.removing = true
	a.mu.Unlock()
	if !first {
		return wait(ctx, "remove session", s.gone)
	}
	err := a.remove(s.dir)
	a.mu.Lock()
	a.session = nil
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

// errIdle is that no session is open.
var errIdle = status.Error(codes.FailedPrecondition, "no session is open on this agent")

// own returns the session of a run, which thereby shows that its control lives;
// else why there is none.
func (a *Agent) own(run string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.session
	switch {
	case s == nil:
		return nil, errIdle
	case s.run != run:
		return nil, s.refusal(codes.PermissionDenied)
	}
	s.alive = time.Now()
	return s, nil
}

// refusal tells another run whose session this is. agent.mu is held.
func (s *session) refusal(code codes.Code) error {
	owner := s.ownerMessage()
	text := fmt.Sprintf("the agent belongs to %s (run %s) since %s, last heard of %s ago",
		s.owner, s.run, s.since.UTC().Format(time.RFC3339), time.Since(s.alive).Round(time.Millisecond))
	if s.detached {
		text += fmt.Sprintf("; it runs %q detached, and can be taken over by that tag", s.tag)
	}
	st, err := status.New(code, text).WithDetails(owner)
	if err != nil {
		return status.Error(code, text)
	}
	return st.Err()
}

// ownerMessage says who holds the session. agent.mu is held.
func (s *session) ownerMessage() *pb.Owner {
	return &pb.Owner{
		RunId:               s.run,
		Name:                s.owner,
		SinceUnixNs:         s.since.UnixNano(),
		LastHeartbeatUnixNs: s.alive.UnixNano(),
		Tag:                 s.tag,
		Detached:            s.detached,
	}
}
