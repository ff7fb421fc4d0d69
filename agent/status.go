package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process/environment"
	"github.com/coreos/dbtester/pkg/results"
)

// probeTimeout bounds a readiness probe whose call has no deadline.
const probeTimeout = 5 * time.Second

// Heartbeat renews the lease, sets the client count and returns the agent clock. It answers in
// every state of its session, so that control learns of an end it did not request.
func (v service) Heartbeat(_ context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
	received := time.Now()
	s, err := v.agent.own(req.GetRunId())
	if err != nil {
		return nil, err
	}
	s.setClients(int64(req.GetClients()))
	if req.GetLeaving() {
		s.leave()
	}
	now := s.snapshot()
	resp := &pb.HeartbeatResponse{
		ReceivedUnixNs: received.UnixNano(),
		State:          now.state,
		Children:       now.childMessages(),
		Reason:         s.reason(),
	}
	if newest := s.newest.Load(); newest != nil && req.GetSample() {
		resp.Sample = results.FormatSample(newest)
	}
	// The clock may be set meanwhile: both stamps must use one clock.
	resp.RepliedUnixNs = resp.ReceivedUnixNs + int64(time.Since(received))
	return resp, nil
}

// Status returns the state and the owner of the agent. Only the run that has the session gets the
// facts, executables and logs of the member. Status renews no lease.
func (v service) Status(ctx context.Context, req *pb.StatusRequest) (*pb.StatusResponse, error) {
	a := v.agent
	resp := &pb.StatusResponse{State: pb.State_STATE_IDLE, Version: a.opts.Version, Host: a.host}
	a.mu.Lock()
	s := a.session
	a.mu.Unlock()
	if s == nil {
		if req.GetProbe() {
			resp.NotReady = "the agent is idle"
		}
		return resp, nil
	}
	now := s.snapshot()
	resp.State, resp.Owner = now.state, now.owner
	if now.run != req.GetRunId() {
		if req.GetProbe() {
			resp.NotReady = "the agent belongs to another run"
		}
		return resp, nil
	}
	resp.Reason = s.reason()
	resp.Children = now.childMessages()
	resp.Files = fileMessages(a.root, now.dir, now.files)
	if req.GetProbe() {
		err := s.ready(ctx, now)
		resp.Ready = err == nil
		if err != nil {
			resp.NotReady = err.Error()
		}
	}
	return resp, nil
}

// ready asks the driver whether the member serves.
func (s *session) ready(ctx context.Context, now snapshot) error {
	if now.state != pb.State_STATE_RUNNING {
		return fmt.Errorf("the session is %s", stateWord(now.state))
	}
	if s.isDown() {
		return errors.New("a fault has ended the member")
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, probeTimeout)
		defer cancel()
	}
	if err := now.planned.driver.Ready(ctx, now.planned.target, now.planned.member.Index); err != nil {
		return err
	}
	return s.age()
}

// Machine returns a record, for messages, that describes the agent machine when the agent began,
// and reports whether a member has a session.
func (a *Agent) Machine() (host []byte, member bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.host, a.session != nil
}

// environmentOf returns the environment in which children run. Facts that cannot be read are
// missing.
func environmentOf(log *slog.Logger, children []member.Child) (all []environment.Facts) {
	for _, c := range children {
		f, err := environment.Of(c.Name, c.Pid)
		if err != nil {
			log.Warn("some facts of a command are unknown", "error", err)
		}
		all = append(all, f)
	}
	return all
}

// fileMessages returns the session files with their current sizes. A file that does not exist yet
// is empty.
func fileMessages(root *os.Root, dir string, files []string) []*pb.FileInfo {
	messages := make([]*pb.FileInfo, len(files))
	for i, name := range files {
		messages[i] = &pb.FileInfo{Name: name}
		if info, err := root.Stat(dir + "/" + name); err == nil {
			messages[i].Size = info.Size()
		}
	}
	return messages
}
