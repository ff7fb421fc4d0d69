package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/coreos/dbtester/pkg/database"
)

// dialTimeout bounds a dial whose context has no deadline.
const dialTimeout = 5 * time.Second

// Transport names what carries a client's requests.
type Transport string

const (
	// GRPC is grpc-go, as in etcd's own client, on a bare connection: without the
	// retries of that client, and never a request that was sent twice.
	GRPC Transport = "grpc"
	// Lean is package unary: the same requests for a third of the CPU (BenchmarkPut).
	Lean Transport = "lean"
)

// Validate reports a transport that does not exist.
func (t Transport) Validate() error {
	if t != GRPC && t != Lean {
		return fmt.Errorf("transport %q is not %s or %s", t, Lean, GRPC)
	}
	return nil
}

// Dial opens one connection and asks for the server's status, so that a dead
// endpoint is an error here and not in the first operation.
//
// With Prefer set the connection talks to that member and to no other, even
// when it dies: where requests went stays known. With Prefer -1 it has a
// connection to every member and takes them in turn.
func (d *Driver) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	if d.Transport == GRPC {
		return d.Options.Dial(ctx, t)
	}
	c, err := dialLean(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w%s", err, hint(t, err))
	}
	return c, nil
}

// Dial is that of [Driver] with the transport [GRPC].
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	conn, err := connect(t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{}); err != nil {
		err = classify(err, false)
		return nil, errors.Join(fmt.Errorf("dial etcd: %w%s", err, hint(t, err)), conn.Close())
	}
	return &client{conn: conn, kv: pb.NewKVClient(conn)}, nil
}

// hint says what to do about an error of a new connection, if it is known: a member
// that wants TLS ends a plaintext connection without a word.
func hint(t database.Target, err error) string {
	_, class := database.Classify(err)
	if t.TLS != nil || class != database.ClassUnavailable || strings.Contains(err.Error(), "refused") {
		return ""
	}
	return " (perhaps the member wants TLS)"
}

// connect makes a connection without waiting for it.
func connect(t database.Target) (*grpc.ClientConn, error) {
	addresses, err := addressesOf(t)
	if err != nil {
		return nil, err
	}
	config, err := t.TLS.Config()
	if err != nil {
		return nil, err
	}
	if err := checkAuth(t.Auth); err != nil {
		return nil, err
	}
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		// Members come back while a run goes on; gRPC's own back-off grows to two
		// minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		// Servers answer pings more often than every 5 s, or without a request in
		// flight, by closing the connection.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
	if t.Auth != nil {
		options = append(options, showTokens(t.Auth))
	}
	if len(addresses) == 1 {
		return grpc.NewClient("passthrough:///"+addresses[0], options...)
	}
	all := manual.NewBuilderWithScheme("members")
	var state resolver.State
	for _, endpoint := range addresses {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: endpoint})
	}
	all.InitialState(state)
	options = append(options, grpc.WithResolvers(all),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	return grpc.NewClient(all.Scheme()+":///"+addresses[0], options...)
}

// addressesOf are the endpoints that a connection talks to.
func addressesOf(t database.Target) ([]string, error) {
	switch {
	case t.Prefer >= len(t.Endpoints):
		return nil, fmt.Errorf("endpoint %d of %d is preferred", t.Prefer, len(t.Endpoints))
	case t.Prefer >= 0:
		return t.Endpoints[t.Prefer : t.Prefer+1], nil
	case len(t.Endpoints) == 0:
		return nil, errors.New("no endpoints")
	}
	return t.Endpoints, nil
}
