package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/dbtesterpb"
)

// remoteAgents are agents that are reached over TCP. Without TLS they must be on
// loopback addresses, unless plain says that others are meant.
type remoteAgents struct {
	plain  bool
	absent atomic.Bool // nobody listened where an agent should
}

// errNoAgents is what to do when nobody listens where agents should.
var errNoAgents = errors.New(`run "dbtester agent" on every database machine, or say --local to have all members here`)

// connect makes a client of the agent at an address. It waits for nothing.
func (r *remoteAgents) connect(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
	if err := r.refuse(addr); err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// Machines of one cluster see each other: a proxy is for what is outside.
		grpc.WithNoProxy(),
		grpc.WithUnaryInterceptor(r.explain))
	if err != nil {
		return nil, nil, err
	}
	return dbtesterpb.NewAgentClient(conn), conn, nil
}

// refuse refuses what would cross a network in plain text.
func (r *remoteAgents) refuse(addr string) error {
	if err := agent.CheckListen(addr, r.plain); err != nil {
		return usageError{errors.New("it is on another machine and would be talked to without TLS: say --insecure if that is meant")}
	}
	return nil
}

// explain puts it plainly that nobody listens.
func (r *remoteAgents) explain(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, conn, options...)
	if s := status.Convert(err); s.Code() == codes.Unavailable {
		if _, why, dialing := strings.Cut(s.Message(), "Error while dialing: "); dialing {
			r.absent.Store(true)
			return status.Errorf(codes.Unavailable, "no agent answers: %s", strings.TrimSuffix(why, `"`))
		}
	}
	return err
}
