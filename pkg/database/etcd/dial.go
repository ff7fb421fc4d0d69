package etcd

import (
	"context"
	"crypto/tls"
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
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/library"
)

// Dial opens one connection and requests the server status, so a dead endpoint fails the dial and
// not the first operation.
//
// With Prefer set the connection uses only that member, even after the member died: the receiver of
// every request is known. With Prefer -1 the client connects to every member and sends requests to
// them in turn.
//
// Every transport sends the remaining time for a request (grpc-timeout), so a member drops work the
// client no longer waits for.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	if err := o.validTransport(); err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	var c operations
	var err error
	switch largest := max(o.requestBytes(), t.MaxBytes); o.Transport {
	case database.Lean:
		c, err = dialLean(ctx, t, largest, o.Pings == pingsWithRequests)
	case transportLibrary:
		c, err = dialLibrary(ctx, t, largest)
	default:
		return dialStandard(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w%s", err, hint(t, err))
	}
	return within(t, c), nil
}

// dialLibrary dials with the etcd client library. No request has more than maxRequest bytes.
func dialLibrary(ctx context.Context, t database.Target, maxRequest int) (*library.Client, error) {
	addresses, err := t.Preferred()
	if err != nil {
		return nil, err
	}
	config, err := t.TLS.Config()
	if err = errors.Join(err, checkAuth(t.Auth)); err != nil {
		return nil, err
	}
	return library.Dial(ctx, library.Config{Endpoints: addresses, TLS: config, Auth: t.Auth, MaxRequest: maxRequest})
}

// dialStandard dials with grpc-go.
func dialStandard(ctx context.Context, t database.Target) (database.Client, error) {
	conn, err := connect(t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{}); err != nil {
		err = answer.Classify(err, false)
		return nil, errors.Join(fmt.Errorf("dial etcd: %w%s", err, hint(t, err)), conn.Close())
	}
	return within(t, &client{conn: conn, kv: pb.NewKVClient(conn)}), nil
}

// hint returns a probable reason for a dial error, as a suffix. A member that requires
// TLS closes a plaintext connection without an answer.
func hint(t database.Target, err error) string {
	_, class := database.Classify(err)
	if t.TLS != nil || class != database.ClassUnavailable || strings.Contains(err.Error(), "refused") {
		return ""
	}
	return " (the member may require TLS)"
}

// DialOptions returns the grpc-go options for a connection to etcd that sends no request twice. A
// lost connection is retried after reconnect, and then with a backoff up to one second; the default
// backoff of grpc-go would grow to two minutes. A nil config is plaintext.
func DialOptions(config *tls.Config, reconnect time.Duration) []grpc.DialOption {
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: reconnect, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		// Servers close connections that ping more often than every 5 s, or without a
		// request in flight.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
	}
}

// connect returns a grpc-go connection, which is established in the background.
func connect(t database.Target) (*grpc.ClientConn, error) {
	addresses, err := t.Preferred()
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
	options := DialOptions(config, 100*time.Millisecond)
	if t.Auth != nil {
		options = append(options, withTokens(t.Auth)...)
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
