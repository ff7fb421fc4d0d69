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

// remoteAgents connects to agents over TCP. Plaintext is limited to loopback
// addresses unless plain is set (--insecure).
type remoteAgents struct {
	plain  bool
	absent atomic.Bool // a dial to an agent failed
}

// errNoAgents is the hint when no agent listens.
var errNoAgents = errors.New(`run "dbtester agent" on every database machine, or pass --local to run all members here`)

// connect returns a client of the agent at an address. It does not wait for the
// connection.
func (r *remoteAgents) connect(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
	if err := r.refuse(addr); err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// Machines of one cluster reach each other directly.
		grpc.WithNoProxy(),
		grpc.WithUnaryInterceptor(r.explain))
	if err != nil {
		return nil, nil, err
	}
	return dbtesterpb.NewAgentClient(conn), conn, nil
}

// refuse returns an error if plaintext would cross a network.
func (r *remoteAgents) refuse(addr string) error {
	if err := agent.CheckListen(addr, r.plain); err != nil {
		return usageError{errors.New("it is on another machine and would be contacted without TLS; pass --insecure to allow that")}
	}
	return nil
}

// explain is an interceptor that reports a failed dial as "no agent answers".
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
