package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
)

// errSignal is why test contexts end.
var errSignal = errors.New("a signal came")

// errGone is the answer of agents that no longer run.
var errGone = errors.New("gone")

// hung blocks like an agent behind a cut cable.
func hung[Req, Resp any](ctx context.Context, _ Req) (resp Resp, err error) {
	<-ctx.Done()
	return resp, status.FromContextError(ctx.Err()).Err()
}

// answers returns an agent with one file and one child, which accepts every request.
func answers(run string) *fleettest.Agent {
	child := []*pb.Child{{Name: "db", Exit: "exit 0 after interrupt"}}
	return &fleettest.Agent{
		OnOpen:  func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error) { return &pb.OpenResponse{}, nil },
		OnClose: func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) { return &pb.CloseResponse{}, nil },
		OnStop: func(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
			return &pb.StopResponse{Children: child, ApparentBytes: 10, AllocatedBytes: 4096, Reason: "asked"}, nil
		},
		OnStatus: func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
			return &pb.StatusResponse{Owner: &pb.Owner{RunHash: pb.RunHash(run)}, Files: []*pb.FileInfo{{Name: "logs/db.log"}, {Name: "session.json"}}}, nil
		},
		OnCollect: func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
			return &fleettest.Chunks{List: []*pb.CollectChunk{{Data: []byte("said\n")}, {Sha256: saidSum}}, Err: io.EOF}, nil
		},
		OnBeat: func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
			now := time.Now().UnixNano()
			return &pb.HeartbeatResponse{ReceivedUnixNs: now, RepliedUnixNs: now, State: pb.State_STATE_RUNNING}, nil
		},
	}
}

// scripted returns a fleet with these agents, each with an open session, and their losses.
func scripted(taps ...*fleettest.Agent) *Fleet {
	o := Options{RunID: "run", Clients: 1, Losses: NewLosses(len(taps), func(int, string) {})}
	for i := range taps {
		o.Agents = append(o.Agents, fmt.Sprintf("agent-%d", i+1))
	}
	f := New(o)
	for i, tap := range taps {
		f.sessions = append(f.sessions, &session{
			Session: remote.Session[pb.AgentClient]{Kind: "agent", Addr: o.Agents[i], RunID: o.RunID, Client: tap, Reserved: true},
			index:   i, nudge: make(chan struct{}, 1),
		})
	}
	return f
}

// Whatever verb one agent hangs in, the others are called too, and the end is bounded.
func TestHungAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		verb string
		hang func(*fleettest.Agent)
		want string
		// within is the time that the run may take, to the second.
		within time.Duration
	}{
		{"stop", func(c *fleettest.Agent) { c.OnStop = hung }, "stop member 2: agent agent-2: no answer within 1m0s", stopTimeout},
		{"status", func(c *fleettest.Agent) { c.OnStatus = hung }, "list files of member 2: agent agent-2: no answer within 10s", remote.CallTimeout},
		{
			"collect", func(c *fleettest.Agent) {
				c.OnCollect = func(ctx context.Context, _ *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
					return &stuck{ctx: ctx, left: 3}, nil
				}
			},
			"collect logs/db.log of member 2: agent agent-2: nothing arrived for 15s", 3*time.Second + stallTimeout,
		},
		{"close", func(c *fleettest.Agent) { c.OnClose = hung }, "agent agent-2: no answer within 10s", remote.CallTimeout},
	} {
		t.Run(tc.verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := answers("run")
				tc.hang(bad)
				f := scripted(answers("run"), bad, answers("run"))
				began := time.Now()
				stopped := map[int]Stopped{}
				err := f.Stop(t.Context(), func(member int, how Stopped) { stopped[member] = how })
				names, collectErr := f.Collect(t.Context(), t.TempDir())
				err = errors.Join(err, collectErr, f.Close(t.Context()))
				if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("error %v, want %s", err, tc.want)
				}
				if took := time.Since(began); took != tc.within {
					t.Errorf("it took %v, want %v", took, tc.within)
				}
				for _, i := range []int{0, 2} {
					if how := stopped[i]; len(how.Exit) != 1 || how.ApparentBytes != 10 || len(names[i]) != 1 {
						t.Errorf("member %d stopped with %+v and left files %q; want one exit, 10 bytes and one file", i+1, how, names[i])
					}
				}
			})
		})
	}
}

// stuck is a stream that sends a piece each second, and then hangs.
type stuck struct {
	grpc.ServerStreamingClient[pb.CollectChunk]
	ctx  context.Context
	left int
}

func (s *stuck) Recv() (*pb.CollectChunk, error) {
	if s.left--; s.left < 0 {
		<-s.ctx.Done()
		return nil, s.ctx.Err()
	}
	time.Sleep(time.Second)
	return &pb.CollectChunk{Data: []byte("slow")}, nil
}

// Agents that hang at their first call are all reported after one time-out.
func TestHungAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := scripted(answers("run"), answers("run"), answers("run"))
		f.sessions[0].Client.(*fleettest.Agent).OnStatus, f.sessions[2].Client.(*fleettest.Agent).OnStatus = hung, hung
		began := time.Now()
		err := f.Reach(t.Context())
		want := "agent agent-1: no answer within 10s\nagent agent-3: no answer within 10s"
		if err == nil || err.Error() != want || time.Since(began) != remote.CallTimeout {
			t.Errorf("after %v: %v, want %s", time.Since(began), err, want)
		}
	})
}

// The agent with the lowest address is released last, in whatever order they are listed.
func TestReleaseOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string // the first two are closed at once
	f := scripted(answers("run"), answers("run"), answers("run"))
	for i, addr := range []string{"b", "c", "a"} {
		f.sessions[i].Addr = addr
		f.sessions[i].Client.(*fleettest.Agent).OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, addr)
			return &pb.CloseResponse{}, nil
		}
	}
	if err := f.Close(t.Context()); err != nil || len(order) != 3 || order[2] != "a" || f.sessions[0].Addr != "b" {
		t.Errorf("closed in the order %q (%v), want a after b and c; the first session is now that of %s, want b", order, err, f.sessions[0].Addr)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errSignal)
	a := &remote.Session[pb.AgentClient]{Kind: "agent", Addr: "10.0.0.2:3500"}
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), status.Error(codes.FailedPrecondition, " the agent belongs to ann\n"), "agent 10.0.0.2:3500: the agent belongs to ann"},
		{
			t.Context(), status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.2:3500: connect: connection refused"`),
			"agent 10.0.0.2:3500 cannot be reached: dial tcp 10.0.0.2:3500: connect: connection refused",
		},
		{
			t.Context(), status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: EOF"`),
			"agent 10.0.0.2:3500 cannot be reached: error reading server preface: EOF",
		},
		{t.Context(), status.Error(codes.DeadlineExceeded, "context deadline exceeded"), "agent 10.0.0.2:3500: no answer in time"},
		{t.Context(), io.ErrUnexpectedEOF, "agent 10.0.0.2:3500: unexpected EOF"},
		{ended, status.FromContextError(context.Canceled).Err(), "agent 10.0.0.2:3500: a signal came"},
	} {
		if got := a.Failed(tc.ctx, tc.err); got.Error() != tc.want {
			t.Errorf("%v is %q, want %q", tc.err, got, tc.want)
		}
	}
	if err := a.Failed(ended, io.EOF); !errors.Is(err, errSignal) {
		t.Errorf("%v hides its cause", err)
	}
}

func TestObituary(t *testing.T) {
	t.Parallel()
	got := obituary("child died", []*pb.Child{
		{Name: "etcd", Exit: "exit 2", Tail: "disk is full\nbye\n"},
		{Name: "proxy", Exit: "exit 0 after interrupt"},
		{Name: "alive", Running: true},
	})
	want := "child died\netcd: exit 2; its last lines:\ndisk is full\nbye\nproxy: exit 0 after interrupt"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
