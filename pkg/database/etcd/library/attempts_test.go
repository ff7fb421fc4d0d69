package library

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestNotSent: a write that ends without a connection was applied only if an attempt
// before may have been.
func TestNotSent(t *testing.T) {
	type attempt struct {
		sent bool
		err  error
	}
	lost := status.Error(codes.Unavailable, "no connection")
	for _, tt := range []struct {
		name     string
		attempts []attempt
		end      error // from the call
		outcome  workload.Outcome
		class    database.Class
	}{
		{"refused, not sent", []attempt{{true, rpctypes.ErrGRPCInvalidAuthToken}, {false, lost}}, lost, workload.Failed, database.ClassUnavailable},
		{"refused, no new token", []attempt{{true, rpctypes.ErrGRPCInvalidAuthToken}}, lost, workload.Failed, database.ClassUnavailable},
		{"lost, not sent", []attempt{{true, lost}, {false, lost}}, lost, workload.Unknown, database.ClassUnavailable},
		{"not sent, lost", []attempt{{false, lost}, {true, lost}}, lost, workload.Unknown, database.ClassConnection},
		{"refused, lost", []attempt{{true, rpctypes.ErrGRPCInvalidAuthToken}, {true, lost}}, lost, workload.Unknown, database.ClassConnection},
		{"not sent", []attempt{{false, lost}}, lost, workload.Failed, database.ClassUnavailable},
	} {
		var a attempts
		c := &call{Context: t.Context()}
		for _, try := range tt.attempts {
			invoke := func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
				for _, o := range opts {
					if p, ok := o.(grpc.PeerCallOption); ok && try.sent {
						p.PeerAddr.Addr = &net.TCPAddr{}
					}
				}
				return try.err
			}
			if err := a.intercept(c, pb.KV_Put_FullMethodName, nil, nil, nil, invoke); err != try.err {
				t.Errorf("%s: an attempt returned %v, want %v", tt.name, err, try.err)
			}
		}
		if outcome, class := database.Classify(c.classify(tt.end)); outcome != tt.outcome || class != tt.class {
			t.Errorf("%s: %v %q, want %v %q", tt.name, outcome, class, tt.outcome, tt.class)
		}
	}
}

// lateContext ends after its deadline, as contexts in a load do: the deadline has passed once the
// member has the request, and whoever asks for it then ends the context.
type lateContext struct {
	context.Context
	member *member
	ended  chan struct{}
	end    func() // closes ended
}

func late(ctx context.Context, m *member) *lateContext {
	c := &lateContext{Context: ctx, member: m, ended: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.ended) })
	return c
}

func (c *lateContext) Done() <-chan struct{} { return c.ended }

func (c *lateContext) Err() error {
	select {
	case <-c.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (c *lateContext) Deadline() (time.Time, bool) {
	if c.member.requests.Load() == 0 {
		return time.Now().Add(time.Hour), true
	}
	c.end()
	return time.Now().Add(-time.Hour), true
}

// TestDeadlineIsNotResent: a request whose deadline the member reports before the load has
// ended the call is a timeout, and is not sent again.
func TestDeadlineIsNotResent(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	for _, name := range []string{"put", "get"} {
		m.failing(errGivenUp, errGivenUp)
		ctx := late(t.Context(), m)
		err := operations()[name](ctx, c)
		ctx.end()
		if outcome, class := database.Classify(err); outcome != workload.Unknown || class != database.ClassTimeout {
			t.Errorf("%s: %v %q, want unknown %q: %v", name, outcome, class, database.ClassTimeout, err)
		}
		if n := m.requests.Load(); n != 1 || c.Resent() != 0 {
			t.Errorf("%s: the member has seen %d requests and %d are counted as sent again, want 1 and 0", name, n, c.Resent())
		}
	}
}
