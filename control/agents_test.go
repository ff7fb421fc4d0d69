package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// hung blocks as an agent behind a cut cable does.
func hung[Req, Resp any](ctx context.Context, _ Req) (resp Resp, err error) {
	<-ctx.Done()
	return resp, status.FromContextError(ctx.Err()).Err()
}

// answers is an agent that has one file and one child, and says yes to all.
func answers(run string) *tapped {
	child := []*pb.Child{{Name: "db", Exit: "exit 0 after interrupt"}}
	return &tapped{
		open:  func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error) { return &pb.OpenResponse{}, nil },
		close: func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) { return &pb.CloseResponse{}, nil },
		stop: func(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
			return &pb.StopResponse{Children: child, ApparentBytes: 10, AllocatedBytes: 4096, Reason: "asked"}, nil
		},
		status: func(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
			return &pb.StatusResponse{Owner: &pb.Owner{RunId: run}, Files: []*pb.FileInfo{{Name: "logs/db.log"}, {Name: "session.json"}}}, nil
		},
		collect: func(context.Context, *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
			return &chunks{list: []*pb.CollectChunk{{Data: []byte("said\n")}, {Sha256: saidSum}}, err: io.EOF}, nil
		},
		beat: func(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
			now := time.Now().UnixNano()
			return &pb.HeartbeatResponse{ReceivedUnixNs: now, RepliedUnixNs: now, State: pb.State_STATE_RUNNING}, nil
		},
	}
}

// scripted is a conductor of members whose agents are the taps.
func scripted(t *testing.T, taps ...*tapped) *conductor {
	c := &conductor{
		trialRun: &trialRun{
			Options:  Options{Report: func(Update) {}, Log: slog.New(slog.DiscardHandler)},
			manifest: &results.Manifest{},
		},
		db:    &config.Database{Steps: config.Steps{Start: true, Load: true, Stop: true}},
		run:   &results.DatabaseRun{Members: make([]results.Member, len(taps))},
		dir:   t.TempDir(),
		disks: make([]results.Disk, len(taps)),
		beats: newHeartbeats(len(taps), 1),
	}
	for i, tap := range taps {
		c.agents = append(c.agents, &agentSession{
			index: i, addr: fmt.Sprintf("agent-%d", i+1), client: tap, closer: io.NopCloser(nil), runID: "run", opened: true,
		})
	}
	return c
}

// Whatever verb one agent hangs in, the others get their turn, and the end is
// bounded.
func TestHungAgent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		verb string
		hang func(*tapped)
		want string
		// within is how long the run may take, to the second.
		within time.Duration
	}{
		{"stop", func(c *tapped) { c.stop = hung }, "stop member 2: agent agent-2: no answer within 1m0s", stopTimeout},
		{"status", func(c *tapped) { c.status = hung }, "list files of member 2: agent agent-2: no answer within 10s", callTimeout},
		{
			"collect", func(c *tapped) {
				c.collect = func(ctx context.Context, _ *pb.CollectRequest) (grpc.ServerStreamingClient[pb.CollectChunk], error) {
					return &stuck{ctx: ctx, left: 3}, nil
				}
			},
			"collect logs/db.log of member 2: agent agent-2: nothing came for 15s", 3*time.Second + stallTimeout,
		},
		{"close", func(c *tapped) { c.close = hung }, "close agents: agent agent-2: no answer within 10s", callTimeout},
	} {
		t.Run(tc.verb, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad := answers("run")
				tc.hang(bad)
				c := scripted(t, answers("run"), bad, answers("run"))
				began := time.Now()
				err := errors.Join(c.stopMembers(t.Context()), c.closeAgents(t.Context()))
				if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
					t.Errorf("error %v, want %s", err, tc.want)
				}
				if took := time.Since(began); took != tc.within {
					t.Errorf("it took %v, want %v", took, tc.within)
				}
				for i, m := range c.run.Members {
					if i != 1 && (len(m.Exit) != 1 || len(m.Files) != 1 || m.Disk.ApparentBytes != 10) {
						t.Errorf("member %d: %+v", i+1, m)
					}
				}
			})
		})
	}
}

// stuck is a stream that brings a piece each second, and then no more.
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

// Agents that hang when they are asked for are all told of after one time-out.
func TestHungAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := scripted(t, answers("run"), answers("run"), answers("run"))
		c.agents[0].client.(*tapped).status, c.agents[2].client.(*tapped).status = hung, hung
		began := time.Now()
		err := each(c.agents, func(a *agentSession) error { return a.reach(t.Context()) })
		want := "agent agent-1: no answer within 10s\nagent agent-3: no answer within 10s"
		if message(err) != want || time.Since(began) != callTimeout {
			t.Errorf("after %v: %v, want %s", time.Since(began), err, want)
		}
	})
}

// Agents are given back in the reverse of the order they are opened in, however
// they are listed.
func TestReleaseOrder(t *testing.T) {
	t.Parallel()
	var order []string
	c := scripted(t, answers("run"), answers("run"), answers("run"))
	for i, addr := range []string{"b", "c", "a"} {
		c.agents[i].addr = addr
		c.agents[i].client.(*tapped).close = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
			order = append(order, addr)
			return &pb.CloseResponse{}, nil
		}
	}
	if err := c.closeAgents(t.Context()); err != nil || strings.Join(order, "") != "cba" || c.agents[0].addr != "b" {
		t.Errorf("order %q, agents now from %s: %v", order, c.agents[0].addr, err)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errSignal)
	a := &agentSession{addr: "10.0.0.2:3500"}
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{t.Context(), status.Error(codes.FailedPrecondition, " the agent belongs to ann\n"), "agent 10.0.0.2:3500: the agent belongs to ann"},
		{
			t.Context(), status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.2:3500: connect: connection refused"`),
			"agent 10.0.0.2:3500 is not reached: dial tcp 10.0.0.2:3500: connect: connection refused",
		},
		{
			t.Context(), status.Error(codes.Unavailable, `connection error: desc = "error reading server preface: EOF"`),
			"agent 10.0.0.2:3500 is not reached: error reading server preface: EOF",
		},
		{t.Context(), status.Error(codes.DeadlineExceeded, "context deadline exceeded"), "agent 10.0.0.2:3500: no answer in time"},
		{t.Context(), io.ErrUnexpectedEOF, "agent 10.0.0.2:3500: unexpected EOF"},
		{ended, status.FromContextError(context.Canceled).Err(), "agent 10.0.0.2:3500: a signal came"},
	} {
		if got := a.failed(tc.ctx, tc.err); got.Error() != tc.want {
			t.Errorf("%v is %q, want %q", tc.err, got, tc.want)
		}
	}
	if err := a.failed(ended, io.EOF); !errors.Is(err, errSignal) {
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
