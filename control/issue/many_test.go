package issue

import (
	"context"
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

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
)

// contested is a generator that waits until others are called too. Another run holds it for a few
// calls.
type contested struct {
	*scripted
	prepare func(call int) error
	close   func()
	calls   int
}

func (g *contested) Prepare(ctx context.Context, req *pb.PrepareRequest, opts ...grpc.CallOption) (*pb.PrepareResponse, error) {
	g.calls++
	if err := g.prepare(g.calls); err != nil {
		return nil, err
	}
	return g.scripted.Prepare(ctx, req, opts...)
}

func (g *contested) CloseLoad(ctx context.Context, req *pb.CloseLoadRequest, opts ...grpc.CallOption) (*pb.CloseLoadResponse, error) {
	g.close()
	return g.scripted.CloseLoad(ctx, req, opts...)
}

// heldBy returns the answer from a generator held by another run.
func heldBy(owner string) error {
	st, err := status.New(codes.FailedPrecondition, "the generator belongs to "+owner).WithDetails(&pb.Owner{Name: owner})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

// many returns a set with n generators that are dialed together.
func many(n int, generator func(i int) *contested) (*Set, []*contested) {
	var all sync.WaitGroup
	all.Add(n)
	var addrs []string
	gens := make([]*contested, n)
	for i := range n {
		addrs = append(addrs, fmt.Sprintf("g%03d:1", i))
		gens[i] = generator(i)
		gens[i].scripted = &scripted{trips: []time.Duration{time.Millisecond}}
	}
	return New(Options{RunID: "run", Addrs: addrs, Connect: func(_ context.Context, addr string) (pb.GeneratorClient, io.Closer, error) {
		all.Done()
		all.Wait()
		var i int
		_, err := fmt.Sscanf(addr, "g%03d:1", &i)
		return gens[i], gens[i], err
	}}), gens
}

// A hundred generators are dialed at once. All except the lowest are reserved at once, and
// released at once.
func TestManyGenerators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which fails tests that block for ever
		const n = 100
		var prepared, closed sync.WaitGroup
		prepared.Add(n - 1)
		closed.Add(n - 1)
		set, gens := many(n, func(i int) *contested {
			together := func(all *sync.WaitGroup) {
				if i > 0 {
					all.Done()
					all.Wait()
				}
			}
			return &contested{prepare: func(int) error { together(&prepared); return nil }, close: func() { together(&closed) }}
		})
		if err := set.Prepare(t.Context(), Job{Database: "fake", Spec: load.Spec{}}); err != nil {
			t.Fatalf("prepare: %v", err)
		}
		if err := set.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
		for i, g := range gens {
			if g.calls != 1 || g.closes != 1 || g.beats < exchanges || int(g.prepared.GetPart()) != i {
				t.Errorf("generator %d was prepared %d times as part %d and closed %d times after %d heartbeats", i+1, g.calls, g.prepared.GetPart()+1, g.closes, g.beats)
			}
		}
	})
}

// A generator that another run releases soon is waited for. Generators above it are released
// meanwhile, and get no heartbeat then. Those below it are kept.
func TestGeneratorHeldForAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closes := map[int]int{}
		var mu sync.Mutex
		set, gens := many(5, func(i int) *contested {
			return &contested{
				prepare: func(call int) error {
					if i == 2 && call < 4 {
						return heldBy("another run")
					}
					return nil
				},
				close: func() { mu.Lock(); closes[i]++; mu.Unlock() },
			}
		})
		if err := set.Prepare(t.Context(), Job{Database: "fake", Spec: load.Spec{}}); err != nil {
			t.Fatalf("prepare: %v", err)
		}
		for i, want := range []int{1, 1, 4, 2, 2} {
			if gens[i].calls != want || closes[i] != (want-1)%3 {
				t.Errorf("generator %d was asked %d times and given back %d times, want %d and %d", i+1, gens[i].calls, closes[i], want, (want-1)%3)
			}
		}
		time.Sleep(10 * time.Second)
		for _, p := range set.parts {
			if err := p.lostBy(); err != nil {
				t.Errorf("%s is lost: %v", p, err)
			}
		}
		if err := set.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// A generator kept by another run is an error. Other refusals are errors too, without a wait.
func TestGeneratorKept(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		refusal error
		want    string
		waits   bool
	}{
		{heldBy("another run"), "generator g002:1: the generator belongs to another run", true},
		{status.Error(codes.FailedPrecondition, "not allowed"), "generator g002:1: not allowed", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			set, gens := many(4, func(i int) *contested {
				return &contested{close: func() {}, prepare: func(int) error {
					if i == 2 {
						return tc.refusal
					}
					return nil
				}}
			})
			began := time.Now()
			err := set.Prepare(t.Context(), Job{Database: "fake", Spec: load.Spec{}})
			if waits := time.Since(began) > 0; err == nil || !strings.HasPrefix(err.Error(), tc.want) || waits != tc.waits {
				t.Errorf("error %v, waited: %v; want %s, %v", err, waits, tc.want, tc.waits)
			}
			if err := set.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			for _, i := range []int{0, 1, 3} {
				if gens[i].closes != 1 {
					t.Errorf("generator %d was given back %d times, want once", i+1, gens[i].closes)
				}
			}
		})
	}
}
