package etcd

import (
	"context"
	"errors"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/database/etcd/unary"
)

// A renewal is a stream in the etcd protocol. Here it has one message in each direction, as in the
// etcd client's KeepAliveOnce: the cost for the members is the same, and the response time is that
// of one request. Session holders keep one stream for all their sessions.

var (
	_ database.Leaser = (*client)(nil)
	_ database.Leaser = (*lean)(nil)
)

// leaseSeconds converts a TTL to seconds, rounded up.
func leaseSeconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// Grant begins a lease.
func (c *client) Grant(ctx context.Context, ttl time.Duration) (database.SessionID, error) {
	if err := ctx.Err(); err != nil {
		return database.SessionID{}, answer.Classify(err, false)
	}
	var p peer.Peer
	resp, err := pb.NewLeaseClient(c.conn).LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: leaseSeconds(ttl)}, grpc.Peer(&p))
	if err != nil {
		return database.SessionID{}, answer.Classify(err, p.Addr != nil)
	}
	return database.NumberedSession(resp.ID), nil
}

// KeepAlive renews a lease.
func (c *client) KeepAlive(ctx context.Context, id database.SessionID) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	ctx, cancel := context.WithCancel(ctx) // ends the stream
	defer cancel()
	var p peer.Peer
	stream, err := pb.NewLeaseClient(c.conn).LeaseKeepAlive(ctx, grpc.Peer(&p))
	if err != nil {
		return answer.Classify(err, p.Addr != nil)
	}
	// Send returns io.EOF for any error, and Recv returns the error itself.
	if err := errors.Join(stream.Send(&pb.LeaseKeepAliveRequest{ID: id.Number()}), stream.CloseSend()); err != nil && !errors.Is(err, io.EOF) {
		return answer.Classify(err, true)
	}
	resp, err := stream.Recv()
	if err != nil {
		return answer.Classify(err, true)
	}
	return answer.Renewed(resp.TTL)
}

// Revoke ends a lease.
func (c *client) Revoke(ctx context.Context, id database.SessionID) error {
	if err := ctx.Err(); err != nil {
		return answer.Classify(err, false)
	}
	var p peer.Peer
	_, err := pb.NewLeaseClient(c.conn).LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: id.Number()}, grpc.Peer(&p))
	return answer.WithoutLease(answer.Classify(err, p.Addr != nil))
}

// Methods, as gRPC names them on the wire.
const (
	pathGrant     = pb.Lease_LeaseGrant_FullMethodName
	pathKeepAlive = pb.Lease_LeaseKeepAlive_FullMethodName
	pathRevoke    = pb.Lease_LeaseRevoke_FullMethodName
)

// Field numbers in etcd lease messages.
const (
	grantTTL   = 1 // in LeaseGrantRequest
	leaseID    = 1 // in LeaseKeepAliveRequest and LeaseRevokeRequest
	grantedID  = 2 // in LeaseGrantResponse
	renewedID  = 2 // in LeaseKeepAliveResponse
	renewedTTL = 3 // in LeaseKeepAliveResponse
)

// Grant implements [database.Leaser] like [client.Grant].
func (c *lean) Grant(ctx context.Context, ttl time.Duration) (database.SessionID, error) {
	id := int64(0)
	err := c.call(ctx, pathGrant, &unary.Message{Rest: number(grantTTL, leaseSeconds(ttl))}, func(reply []byte) (keep bool, err error) {
		id, err = numberIn(reply, grantedID)
		return false, err
	})
	if err != nil {
		return database.SessionID{}, err
	}
	return database.NumberedSession(id), nil
}

// KeepAlive implements [database.Leaser] like [client.KeepAlive].
func (c *lean) KeepAlive(ctx context.Context, id database.SessionID) error {
	ttl := int64(0)
	err := c.call(ctx, pathKeepAlive, &unary.Message{Rest: number(leaseID, id.Number())}, func(reply []byte) (keep bool, err error) {
		ttl, err = numberIn(reply, renewedTTL)
		return false, err
	})
	if err != nil {
		return err
	}
	return answer.Renewed(ttl)
}

// Revoke implements [database.Leaser] like [client.Revoke].
func (c *lean) Revoke(ctx context.Context, id database.SessionID) error {
	return answer.WithoutLease(c.call(ctx, pathRevoke, &unary.Message{Rest: number(leaseID, id.Number())}, wellFormed))
}

// number encodes a message that has one number.
func number(field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(make([]byte, 0, 1+maxVarint), field, protowire.VarintType), uint64(n))
}

// numberIn returns a number in a message, 0 if it is absent.
func numberIn(message []byte, field protowire.Number) (found int64, err error) {
	err = fields(message, func(at protowire.Number, _ []byte, n uint64) error {
		if at == field {
			found = int64(n)
		}
		return nil
	})
	return found, err
}
