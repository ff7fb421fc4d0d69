package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
)

// probeTimeout bounds a readiness probe whose call has no deadline.
const probeTimeout = 5 * time.Second

// Heartbeat renews the lease, takes the number of clients and returns the agent's
// clock. It answers in every state of its session, so that control learns of an end
// it did not ask for.
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
	resp := &pb.HeartbeatResponse{
		ReceivedUnixNs: received.UnixNano(),
		State:          s.snapshot().state,
		Children:       s.childMessages(),
		Reason:         s.reason(),
	}
	// The clock may be set meanwhile: both stamps must be of one clock.
	resp.RepliedUnixNs = resp.ReceivedUnixNs + int64(time.Since(received))
	return resp, nil
}

// Status returns the state of the agent and its owner. What the member is, ran and
// logged is for the session's run only. It renews no lease.
func (v service) Status(ctx context.Context, req *pb.StatusRequest) (*pb.StatusResponse, error) {
	a := v.agent
	resp := &pb.StatusResponse{State: pb.State_STATE_IDLE, Version: a.opts.Version, Host: hostMessage(a.host)}
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
	resp.Children = s.childMessages()
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

// snapshot is the part of a session that verbs read, at one moment.
type snapshot struct {
	run     string
	state   pb.State
	owner   *pb.Owner
	planned *planned
	dir     string
	files   []string
}

func (s *session) snapshot() snapshot {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	return snapshot{run: s.now.run, state: s.now.state, owner: s.ownerMessage(), planned: s.now.planned, dir: s.now.dir, files: s.now.files}
}

// ready asks the driver whether the member serves.
func (s *session) ready(ctx context.Context, now snapshot) error {
	if now.state != pb.State_STATE_RUNNING {
		return fmt.Errorf("the session is %s", stateWord(now.state))
	}
	if s.isDown() {
		return errors.New("the member is down on purpose")
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, probeTimeout)
		defer cancel()
	}
	return now.planned.driver.Ready(ctx, now.planned.target, now.planned.member.Index)
}

// stateWord returns the word for a state in errors and records.
func stateWord(state pb.State) string {
	switch state {
	case pb.State_STATE_IDLE:
		return "idle"
	case pb.State_STATE_OPEN:
		return "open"
	case pb.State_STATE_STARTING:
		return "starting"
	case pb.State_STATE_RUNNING:
		return "running"
	case pb.State_STATE_STOPPING:
		return "stopping"
	case pb.State_STATE_STOPPED:
		return "stopped"
	default:
		return "unspecified"
	}
}

// children returns the commands that were spawned and whether they run.
func (s *session) children() []member.Child {
	s.agent.mu.Lock()
	m, spawned := s.now.member, s.now.spawned
	s.agent.mu.Unlock()
	if m != nil {
		return m.Children()
	}
	// Before the last one is spawned, after a start that failed, and after a restart
	// there are only the children that were noted.
	noted := make([]member.Child, len(spawned))
	for i, c := range spawned {
		noted[i] = c
		noted[i].Running = process.Alive(c.Pid, c.StartTicks)
	}
	return noted
}

// childMessages are the children for the wire.
func (s *session) childMessages() []*pb.Child { return s.messagesOf(s.children()) }

func (s *session) messagesOf(children []member.Child) []*pb.Child {
	s.agent.mu.Lock()
	known, tails, exits := s.now.member != nil, s.now.tails, s.now.exits
	s.agent.mu.Unlock()
	messages := make([]*pb.Child, len(children))
	for i, c := range children {
		messages[i] = &pb.Child{Name: c.Name, Pid: int32(c.Pid), Argv: c.Argv, Running: c.Running, Tail: tails[c.Name]}
		switch {
		case c.Running:
		case known:
			messages[i].Exit = c.Exit.String()
		case exits[c.Name] != "":
			messages[i].Exit = exits[c.Name]
		default:
			messages[i].Exit = "ended, its exit unseen"
		}
	}
	return messages
}

// hostMessage is the machine for the wire.
func hostMessage(h results.Host) *pb.Host {
	return &pb.Host{
		Name: h.Name, Os: h.OS, Kernel: h.Kernel, CpuModel: h.CPUModel, Cpus: int32(h.CPUs),
		MemoryBytes: h.MemoryBytes, BootId: h.BootID, NetNs: h.NetNS, OnlineCpus: int32(h.OnlineCPUs), CpuQuota: h.CPUQuota,
		CpuGovernor: h.CPUGovernor, ClockSync: h.ClockSync,
		ClockMaxErrorNs: int64(h.ClockMaxError), ClockEstErrorNs: int64(h.ClockEstError),
	}
}

// fileMessages are the files of a session with their sizes now; a file that does
// not exist yet is empty.
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

// refusal is the error for another run: it names the owner. agent.mu is held.
func (s *session) refusal(code codes.Code) error {
	owner := s.ownerMessage()
	text := fmt.Sprintf("the agent belongs to %s (run %s) since %s, last heard from %s ago",
		s.now.owner, pb.RunHash(s.now.run), s.now.since.UTC().Format(time.RFC3339), time.Since(s.now.alive).Round(time.Millisecond))
	if s.now.detached {
		text += fmt.Sprintf("; it runs %q detached, for a run that takes it over", s.now.tag)
	}
	st, err := status.New(code, text).WithDetails(owner)
	if err != nil {
		return status.Error(code, text)
	}
	return st.Err()
}

// ownerMessage is the owner of the session for the wire. agent.mu is held.
func (s *session) ownerMessage() *pb.Owner {
	return &pb.Owner{
		RunHash:             pb.RunHash(s.now.run),
		Name:                s.now.owner,
		SinceUnixNs:         s.now.since.UnixNano(),
		LastHeartbeatUnixNs: s.now.alive.UnixNano(),
		Tag:                 s.now.tag,
		Detached:            s.now.detached,
	}
}
