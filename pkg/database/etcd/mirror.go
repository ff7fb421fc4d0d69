package etcd

import (
	"context"
	"fmt"
	"math"
	"net"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Mirror = (*Options)(nil)

// mirror answers KV.Put and KV.Range for one key, and Maintenance.Status.
type mirror struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	values database.MirrorValues
	hold   func()
}

// ServeMirror implements [database.Mirror] on grpc-go, as the etcd server does.
func (o *Options) ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	m := &mirror{hold: hold}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(math.MaxInt32), grpc.WaitForHandlers(true))
	pb.RegisterKVServer(server, m)
	pb.RegisterMaintenanceServer(server, m)
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the mirror of etcd: %w", err)
	}
	return nil
}

func (m *mirror) Put(_ context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	m.hold()
	m.values.Put(string(r.Key), r.Value)
	return &pb.PutResponse{Header: mirrorHeader()}, nil
}

// Range ignores the end of the range.
func (m *mirror) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	value, exists := m.values.Get(string(r.Key))
	if !exists {
		return &pb.RangeResponse{Header: mirrorHeader()}, nil
	}
	m.hold()
	return &pb.RangeResponse{Header: mirrorHeader(), Count: 1, Kvs: []*mvccpb.KeyValue{{Key: r.Key, Value: value}}}, nil
}

func (m *mirror) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: mirrorHeader(), Version: "3.6.0", Leader: 1, RaftTerm: 1, RaftIndex: 1}, nil
}

func mirrorHeader() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: 1, MemberId: 1, Revision: 1, RaftTerm: 1}
}
