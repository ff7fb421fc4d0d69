package fleet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/control/fleet/fleettest"
	"github.com/coreos/dbtester/control/fleet/remote"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// A hundred agents are dialed at once. All except the lowest are claimed at once, and released at
// once. Their members are stopped a quarter of the rest at a time, so that the others can take
// over from a leader.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	const n = 100
	synctest.Test(t, func(t *testing.T) { // which fails tests that block for ever
		var all sync.WaitGroup
		together := func(here bool) {
			if here {
				all.Done()
				all.Wait()
			}
		}
		var mu sync.Mutex
		left, stopping, waves := n, 0, []int{}
		o := Options{RunID: "run", Clients: 1, Losses: NewLosses(n, func(int, string) {})}
		for i := range n {
			o.Agents = append(o.Agents, fmt.Sprintf("10.0.1.%d:3500", n-i))
		}
		lowest := o.Agents[0] // "10.0.1.1:3500" sorts below "10.0.1.10:3500"
		for _, addr := range o.Agents {
			if remote.Compare(addr, lowest) < 0 {
				lowest = addr
			}
		}
		o.Connect = func(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
			together(true)
			agent := answers("run")
			agent.OnOpen = func(context.Context, *pb.OpenRequest) (*pb.OpenResponse, error) {
				together(addr != lowest)
				return &pb.OpenResponse{}, nil
			}
			agent.OnClose = func(context.Context, *pb.CloseRequest) (*pb.CloseResponse, error) {
				together(addr != lowest)
				return &pb.CloseResponse{}, nil
			}
			stop := agent.OnStop
			agent.OnStop = func(ctx context.Context, req *pb.StopRequest) (*pb.StopResponse, error) {
				mu.Lock()
				stopping++
				mu.Unlock()
				time.Sleep(time.Second) // in the synthetic clock: all that stop at once have begun
				mu.Lock()
				if stopping > 0 {
					waves, left, stopping = append(waves, stopping), left-stopping, 0
				}
				mu.Unlock()
				return stop(ctx, req)
			}
			return agent, io.NopCloser(nil), nil
		}
		f := New(o)
		all.Add(n)
		if err := f.Connect(t.Context()); err != nil {
			t.Fatalf("connect: %v", err)
		}
		var opened, stopped []int
		all.Add(n - 1)
		if err := f.Open(t.Context(), nil, func(member int, _ *results.Host) { opened = append(opened, member) }); err != nil {
			t.Fatalf("open: %v", err)
		}
		if err := f.Stop(t.Context(), func(member int, _ Stopped) { stopped = append(stopped, member) }); err != nil {
			t.Fatalf("stop: %v", err)
		}
		all.Add(n - 1)
		if err := f.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
		slices.Sort(opened)
		for i := range n {
			if len(opened) != n || len(stopped) != n || opened[i] != i || stopped[i] != i {
				t.Fatalf("members %v opened and %v stopped, want each of %d once, stopped in order", opened, stopped, n)
			}
		}
		for i, size := 0, n; size > 0; i++ {
			want := max(size/4, 1)
			if i >= len(waves) || waves[i] != want {
				t.Fatalf("members were stopped %v at a time, want a quarter of those left", waves)
			}
			size -= want
		}
		if last := waves[len(waves)-7:]; left != 0 || slices.Max(last) != 1 {
			t.Errorf("the last members were stopped %v at a time, want one by one", last)
		}
	})
}

// Open connections are closed even if another agent could not be dialed.
func TestDialedInPart(t *testing.T) {
	t.Parallel()
	closed := 0
	f := New(Options{Agents: []string{"a:1", "b:1", "c:1"}, Connect: func(_ context.Context, addr string) (pb.AgentClient, io.Closer, error) {
		if addr == "b:1" {
			return nil, nil, errGone
		}
		return &fleettest.Agent{}, closerFunc(func() error { closed++; return nil }), nil
	}})
	if err := f.Connect(t.Context()); err == nil || err.Error() != "agent b:1: gone" {
		t.Errorf("error %v, want that of agent b", err)
	}
	if err := f.Close(t.Context()); err != nil || closed != 2 {
		t.Errorf("close: %v, %d connections closed, want 2", err, closed)
	}
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
