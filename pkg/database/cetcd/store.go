package cetcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database/etcd"
)

// store is the gRPC interface of etcd over one connection to one member. It is safe for concurrent
// use and never sends a request twice.
type store struct {
	conn    *grpc.ClientConn
	kv      pb.KVClient
	watch   pb.WatchClient
	status  pb.MaintenanceClient
	cluster pb.ClusterClient
}

// newStore returns a store whose connection is established in the background.
func newStore(endpoint string, config *tls.Config) (*store, error) {
	// etcd starts and stops while the proxy runs: reconnect soon.
	conn, err := grpc.NewClient("passthrough:///"+endpoint, etcd.DialOptions(config, 50*time.Millisecond)...)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	return &store{
		conn: conn, kv: pb.NewKVClient(conn), watch: pb.NewWatchClient(conn),
		status: pb.NewMaintenanceClient(conn), cluster: pb.NewClusterClient(conn),
	}, nil
}

func (s *store) close() error { return s.conn.Close() }

// read makes one range request.
func (s *store) read(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	var p peer.Peer
	resp, err := s.kv.Range(ctx, r, grpc.Peer(&p))
	if err != nil {
		return nil, answerOf(err, p.Addr != nil)
	}
	return resp, nil
}

// put creates or overwrites a key.
func (s *store) put(ctx context.Context, key, stored []byte) error {
	var p peer.Peer
	if _, err := s.kv.Put(ctx, &pb.PutRequest{Key: key, Value: stored}, grpc.Peer(&p)); err != nil {
		return answerOf(err, p.Addr != nil)
	}
	return nil
}

// remove deletes the keys in the half-open range [key, end), or one key without an end.
func (s *store) remove(ctx context.Context, key, end []byte) error {
	var p peer.Peer
	if _, err := s.kv.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: key, RangeEnd: end}, grpc.Peer(&p)); err != nil {
		return answerOf(err, p.Addr != nil)
	}
	return nil
}

// compare applies then if the key was last written at index; 0 means that the key does
// not exist. It returns whether it did, and whether the key exists.
func (s *store) compare(ctx context.Context, key []byte, index int64, then *pb.RequestOp) (done, exists bool, err error) {
	var p peer.Peer
	resp, err := s.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{{
			Key: key, Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: index},
		}},
		Success: []*pb.RequestOp{then},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key, CountOnly: true}}}},
	}, grpc.Peer(&p))
	switch {
	case err != nil:
		return false, false, answerOf(err, p.Addr != nil)
	case resp.Succeeded:
		return true, true, nil
	}
	return false, resp.Responses[0].GetResponseRange().Count > 0, nil
}

// txn makes one transaction.
func (s *store) txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	var p peer.Peer
	resp, err := s.kv.Txn(ctx, r, grpc.Peer(&p))
	if err != nil {
		return nil, answerOf(err, p.Addr != nil)
	}
	return resp, nil
}

// await returns when a key in the half-open range [key, end) was written or deleted after
// index, which is an event, or when etcd has compacted that history. It returns without an
// error when ctx ends.
func (s *store) await(ctx context.Context, key, end []byte, index int64) (event bool, err error) {
	// The stream ends with its context.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.watch.Watch(ctx)
	if err == nil {
		err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
			Key: key, RangeEnd: end, StartRevision: index + 1,
		}}})
	}
	for err == nil {
		var resp *pb.WatchResponse
		if resp, err = stream.Recv(); err == nil && (len(resp.Events) > 0 || resp.Canceled) {
			return len(resp.Events) > 0, nil
		}
	}
	// etcd has the deadline too, and may end the stream first.
	if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
		return false, nil
	}
	return false, answerOf(err, true)
}

// pages calls page with all keys that begin with prefix, in order and page by page, as of the
// revision in the header of the first page.
func (s *store) pages(ctx context.Context, prefix string, r *pb.RangeRequest, page func(*pb.RangeResponse) error) error {
	r.Key, r.RangeEnd = span(prefix)
	for {
		resp, err := s.read(ctx, r)
		if err != nil {
			return err
		}
		if err := page(resp); err != nil || !resp.More {
			return err
		}
		if r.Revision == 0 {
			r.Revision = resp.Header.Revision
		}
		r.Key = append(resp.Kvs[len(resp.Kvs)-1].Key, 0)
	}
}

// span returns the half-open range for keys that begin with prefix, as etcd encodes it: "\x00" is
// the first key, and as an end it means no bound.
func span(prefix string) (key, end []byte) {
	if prefix == "" {
		return []byte{0}, []byte{0}
	}
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return []byte(prefix), end
		}
	}
	return []byte(prefix), []byte{0}
}

// revision converts an index to an etcd revision. An unreachable index becomes the largest one.
func revision(index uint64) int64 { return int64(min(index, math.MaxInt64-1)) }
