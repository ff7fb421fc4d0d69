// Package library applies a load through clientv3, the etcd client library, as programs use it:
// with its retries, its balancer and its settings where a program leaves them alone.
package library

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

// dialTimeout bounds a dial whose context has no deadline.
const dialTimeout = 5 * time.Second

// Config configures a client.
type Config struct {
	// Endpoints are host:port addresses, at least one. The balancer uses those that are connected
	// in turn.
	Endpoints []string
	// TLS is nil for plaintext, Auth for a client without credentials.
	TLS  *tls.Config
	Auth *database.Auth
	// MaxRequest is the largest request in bytes, without the margin for gRPC. Below libraryRequest
	// the limit in the library holds.
	MaxRequest int
}

// The library sends no request above libraryRequest bytes unless it is configured. Requests have
// some bytes more than key and value, within requestMargin.
const (
	libraryRequest = 2 << 20
	requestMargin  = 512 << 10
)

// Dial makes a library client and asks a member for its status, so that a dead endpoint fails the
// dial and not the first operation. Errors are classed.
//
// The library has its default settings, with four exceptions. It logs nothing, instead of a line
// for each failed attempt. MaxRequest raises its limit. Calls fail without a connection as long as
// Dial lasts. And credentials the members would not check are an error, where the library leaves
// them out.
func Dial(ctx context.Context, config Config) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	life, end := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, end) // the library context lasts as long as the client
	c := &Client{end: end}
	c.attempts.dialing.Store(true)
	err := c.open(ctx, life, config)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		return nil, errors.Join(answer.Classify(err, false), c.Close())
	}
	c.attempts.dialing.Store(false)
	return c, nil
}

// open makes the library client, which lasts as long as life, and waits for a member's status.
func (c *Client) open(ctx, life context.Context, config Config) error {
	settings := clientv3.Config{
		Endpoints: config.Endpoints, TLS: config.TLS, Context: life, DialTimeout: dialTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(c.attempts.intercept)},
	}
	if size := config.MaxRequest + requestMargin; size > libraryRequest {
		settings.MaxCallSendMsgSize = size
	}
	if config.Auth != nil {
		settings.Username, settings.Password = config.Auth.User, config.Auth.Password
	}
	library, err := clientv3.New(settings)
	if err != nil {
		return err
	}
	c.upstream = library
	if c.attempts.unsecured.Load() {
		return rpctypes.ErrAuthNotEnabled
	}
	// Status in the library would dial another connection.
	_, err = pb.NewMaintenanceClient(library.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
	return err
}
