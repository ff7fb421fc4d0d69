package etcd

import (
	"context"
	"net"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// timeoutServer is a server that records the time that each request gives it, zero for no limit.
type timeoutServer struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	left chan time.Duration
}

func (s *timeoutServer) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{}, nil
}

func (s *timeoutServer) Put(ctx context.Context, _ *pb.PutRequest) (*pb.PutResponse, error) {
	var left time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	s.left <- left
	return &pb.PutResponse{}, nil
}

// Over every transport the server knows the request deadline, so it does not work on one that the
// client has given up.
func TestTimeoutReachesServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.16.2.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	s := &timeoutServer{left: make(chan time.Duration, 1)}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, s)
	pb.RegisterMaintenanceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	target := database.Target{Endpoints: []string{listener.Addr().String()}}
	byTransport(t, func(t *testing.T, transport database.Transport) {
		client := dialBy(t, transport, target)
		for _, timeout := range []time.Duration{time.Hour, 20 * time.Hour, 0} {
			ctx, cancel := context.WithCancel(t.Context())
			if timeout > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), timeout)
			}
			if err := client.Put(ctx, []byte("k"), []byte("v")); err != nil {
				t.Errorf("put with a time-out of %v: %v", timeout, err)
			}
			cancel()
			if left := <-s.left; left > timeout || left < timeout-databasetest.Patience {
				t.Errorf("the server has %v left of a time-out of %v", left, timeout)
			}
		}
	})
}
