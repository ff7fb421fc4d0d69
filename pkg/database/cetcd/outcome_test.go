package cetcd

import (
	"context"
	"errors"
	"log"
	"net"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/raft/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Proxy clients see the right outcome and class for an etcd answer.
func TestOutcomes(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		outcome workload.Outcome
		class   database.Class
	}{
		{"ok", nil, workload.OK, ""},
		{"no leader", rpctypes.ErrGRPCNoLeader, workload.Failed, database.ClassUnavailable},
		{"dropped", status.Error(codes.Unknown, raft.ErrProposalDropped.Error()), workload.Failed, database.ClassUnavailable},
		{"leader changed", rpctypes.ErrGRPCLeaderChanged, workload.Unknown, database.ClassLeaderChange},
		{"leader failed", rpctypes.ErrGRPCTimeoutDueToLeaderFail, workload.Unknown, database.ClassLeaderChange},
		{"timed out", rpctypes.ErrGRPCTimeout, workload.Unknown, database.ClassTimeout},
		{"connection lost", rpctypes.ErrGRPCTimeoutDueToConnectionLost, workload.Unknown, database.ClassTimeout},
		{"stopped", rpctypes.ErrGRPCStopped, workload.Unknown, database.ClassUnavailable},
		{"too many", rpctypes.ErrGRPCRequestTooManyRequests, workload.Failed, database.ClassThrottled},
		{"no space", rpctypes.ErrGRPCNoSpace, workload.Unknown, database.ClassSpaceExceeded},
		{"too large", rpctypes.ErrGRPCRequestTooLarge, workload.Failed, database.ClassTooLarge},
		{"broken", status.Error(codes.Unavailable, "transport is closing"), workload.Unknown, database.ClassConnection},
		{"deadline", status.Error(codes.DeadlineExceeded, "deadline"), workload.Unknown, database.ClassTimeout},
		{"something new", status.Error(codes.Internal, "boom"), workload.Unknown, database.ClassOther},
	}
	fake := &fakeEtcd{}
	conn := dialProxy(t, fake)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake.answer(tt.err)
			mustClass(t, conn.Put(t.Context(), []byte("k"), []byte("v")), tt.class, tt.outcome)
			mustClass(t, conn.(database.Deleter).Delete(t.Context(), []byte("k")), tt.class, tt.outcome)
		})
	}
}

// Without etcd surely nothing is applied; a swap fails with its read.
func TestNoEtcd(t *testing.T) {
	fake := &fakeEtcd{}
	conn := dialProxy(t, fake)
	fake.server.Stop()
	// The first request may find the connection before it is known to be gone.
	_, err := conn.Get(t.Context(), []byte("k"), workload.ReadLinearizable)
	if outcome, _ := database.Classify(err); outcome == workload.OK {
		t.Error("a read without etcd is ok")
	}
	for range 3 {
		mustClass(t, conn.Put(t.Context(), []byte("k"), []byte("v")), database.ClassUnavailable, workload.Failed)
		mustClass(t, conn.(database.Swapper).Swap(t.Context(), []byte("k"), nil, nil), database.ClassUnavailable, workload.Failed)
	}
}

func mustClass(t *testing.T, err error, class database.Class, outcome workload.Outcome) {
	t.Helper()
	if o, c := database.Classify(err); o != outcome || c != class {
		t.Errorf("got %v, %q, want %v, %q: %v", o, c, outcome, class, err)
	}
}

// fakeEtcd answers every write with one error, set between requests.
type fakeEtcd struct {
	pb.UnimplementedKVServer
	server *grpc.Server

	mu  sync.Mutex
	err error
}

func (f *fakeEtcd) answer(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeEtcd) answered() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *fakeEtcd) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 1}}, nil
}

func (f *fakeEtcd) Put(context.Context, *pb.PutRequest) (*pb.PutResponse, error) {
	return &pb.PutResponse{}, f.answered()
}

func (f *fakeEtcd) DeleteRange(context.Context, *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	return &pb.DeleteRangeResponse{}, f.answered()
}

// dialProxy serves a proxy to the fake and returns a client for it.
func dialProxy(t *testing.T, fake *fakeEtcd) database.Client {
	t.Helper()
	fake.server = grpc.NewServer()
	pb.RegisterKVServer(fake.server, fake)
	etcd := listen(t)
	go func() { _ = fake.server.Serve(etcd) }()
	t.Cleanup(fake.server.Stop)

	store, err := newStore(etcd.Addr().String(), nil)
	if err != nil {
		t.Fatalf("connect to etcd: %v", err)
	}
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- errors.Join(serve(ctx, listener, store, log.New(t.Output(), "", 0)), store.close()) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	conn, err := New().Dial(t.Context(), database.Target{Endpoints: []string{listener.Addr().String()}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.6.6:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	return l
}
