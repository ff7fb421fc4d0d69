package main

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/trust/agentlink"
)

// remoteAgents connects to agents over TCP. Without certificates, other machines are
// contacted only with --insecure.
type remoteAgents struct {
	link   agentlink.Client
	absent atomic.Bool // a dial failed

	mu   sync.Mutex
	open []string // agents that admit anyone
}

func newRemoteAgents(link agentlink.Client) *remoteAgents {
	r := &remoteAgents{link: link}
	r.link.Opened = r.opened
	return r
}

// noAgents returns the hint if no agent answers. --local can only run hosts on loopback
// addresses.
func noAgents(e *config.Experiment) error {
	const hint = `run "dbtester agent" on every database machine`
	for _, db := range e.Databases {
		for _, h := range db.Hosts {
			if agent.CheckListen(net.JoinHostPort(h.Addr, "0"), false) != nil {
				return errors.New(hint)
			}
		}
	}
	return errors.New(hint + ", or pass --local to run all members here")
}

// connect returns a client for the agent at addr. It does not wait for the connection.
func (r *remoteAgents) connect(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
	conn, err := r.dial(addr)
	if err != nil {
		return nil, nil, err
	}
	return dbtesterpb.NewAgentClient(conn), conn, nil
}

// connectGenerator returns a client for the generator in the agent at addr. It does not wait for
// the connection.
func (r *remoteAgents) connectGenerator(_ context.Context, addr string) (dbtesterpb.GeneratorClient, io.Closer, error) {
	conn, err := r.dial(addr)
	if err != nil {
		return nil, nil, err
	}
	return dbtesterpb.NewGeneratorClient(conn), conn, nil
}

// dial returns a connection to the agent at addr.
func (r *remoteAgents) dial(addr string) (*grpc.ClientConn, error) {
	if err := r.refuse(addr); err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(r.link.Credentials()),
		// Machines in a cluster reach each other directly.
		grpc.WithNoProxy(),
		grpc.WithUnaryInterceptor(r.explain))
}

// refuse returns an error if plaintext would cross a network.
func (r *remoteAgents) refuse(addr string) error {
	if r.link.Certs != nil {
		return nil
	}
	if err := agent.CheckListen(addr, r.link.Insecure); err != nil {
		return usageError{errors.New("it is on another machine and would be contacted without TLS; pass --certs (dbtester certs init makes certificates), or to allow that pass --insecure")}
	}
	return nil
}

// opened records that the agent at addr admits anyone.
func (r *remoteAgents) opened(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.open, addr) {
		r.open = append(r.open, addr)
	}
}

// unguarded returns the agents called so far that admit anyone.
func (r *remoteAgents) unguarded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.open))
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
