package etcd

import (
	"context"
	"net"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
)

// foreignServer answers each range with one key, whatever the request.
type foreignServer struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
}

func (foreignServer) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{}, nil
}

func (foreignServer) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Count: 1, Kvs: []*mvccpb.KeyValue{{Key: []byte("k")}}}, nil
}

// TestForeignNames: a key outside the prefix in an answer is an error.
func TestForeignNames(t *testing.T) {
	listener, err := net.Listen("tcp", "127.16.2.2:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, foreignServer{})
	pb.RegisterMaintenanceServer(server, foreignServer{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	target := database.Target{Endpoints: []string{listener.Addr().String()}, Prefix: "bench"}
	const want = `begin with "bench/", and answered with the key "k"`
	if _, err := New().HighestKey(t.Context(), target, 5); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want an error with %q, got %v", want, err)
	}
}
