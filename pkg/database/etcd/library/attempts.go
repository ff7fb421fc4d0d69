package library

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

// attempts sees the attempts of each call: its interceptor runs inside the one by which the library
// retries. It is safe for concurrent use.
type attempts struct {
	// resent counts attempts after the first of their call.
	resent atomic.Int64
	// dialing makes calls without a connection fail at once, where the library would let them wait
	// for one until their deadline.
	dialing atomic.Bool
	// unsecured: the members have no users, so that the library has left the credentials
	// out without an error.
	unsecured atomic.Bool
	closed    atomic.Bool
}

// intercept makes one attempt.
func (a *attempts) intercept(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if a.dialing.Load() {
		opts = append(opts, grpc.WaitForReady(false))
	}
	c, counted := ctx.Value(callKey{}).(*call)
	// The library requests a new token with the context from the call that needs it.
	if method == pb.Auth_Authenticate_FullMethodName {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if errors.Is(rpctypes.Error(err), rpctypes.ErrAuthNotEnabled) {
			a.unsecured.Store(true)
		}
		return err
	}
	if a.closed.Load() {
		// The library would retry a call on a closed connection a hundred times.
		return status.Error(codes.Aborted, "the client is closed")
	}
	if counted {
		if c.tries++; c.tries > 1 {
			a.resent.Add(1)
		}
		c.peer = peer.Peer{} // gRPC leaves it alone without a connection
		opts = append(opts, grpc.Peer(&c.peer))
	}
	err := invoke(ctx, method, req, reply, cc, opts...)
	if counted {
		c.note(err)
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Canceled:
		if counted {
			c.disconnected = cc.GetState() != connectivity.Ready
		}
		awaitEnd(ctx)
	}
	return err
}

// awaitEnd waits for the end of a context whose deadline has passed. A load ends its calls a little
// after their deadline. In between, the library would send the request again if a member or gRPC
// reports the deadline.
func awaitEnd(ctx context.Context) {
	const longest = time.Second // contexts end soon after their deadline
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 0 {
		return
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// call adds the results of its attempts to the context of one call. It belongs to the calling
// goroutine.
type call struct {
	context.Context
	tries int
	// peer has an address if the last attempt was given to a connection and not refused.
	peer peer.Peer
	// unsure: an attempt ended with an error although it may have been applied.
	unsure bool
	// disconnected: the time of an attempt ended, and then there was no connection.
	disconnected bool
}

// callKey looks up the [call] in a context.
type callKey struct{}

// Value returns the call itself for a callKey.
func (c *call) Value(key any) any {
	if _, own := key.(callKey); own {
		return c
	}
	return c.Context.Value(key)
}

// note records how an attempt ended.
func (c *call) note(err error) {
	switch outcome, _ := database.Classify(answer.Classify(err, c.peer.Addr != nil)); outcome {
	case workload.Unknown:
		c.unsure = true
	case workload.Failed:
		// The call may yet end by another error than this attempt did.
		c.peer = peer.Peer{}
	}
}

// classify classes the error of a call. If any attempt was sent and not refused, the request may
// have been applied.
func (c *call) classify(err error) error {
	classed := answer.Classify(err, c.peer.Addr != nil)
	var e *database.Error
	if c.disconnected && errors.As(classed, &e) {
		e.Err = fmt.Errorf("%w: %w", e.Err, database.ErrDisconnected)
	}
	return c.doubt(classed)
}

// doubt returns a classed error as one for a request that may have been applied, if an attempt
// before the last may have been: a refusal concerns only the last attempt, and a conflict may be
// with an attempt before.
func (c *call) doubt(err error) error {
	outcome, class := database.Classify(err)
	if c.unsure && outcome == workload.Failed {
		return database.MaybeApplied(class, err)
	}
	return err
}
