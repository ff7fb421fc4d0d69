package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// putServer counts puts by key.
type putServer struct {
	etcdserverpb.UnimplementedKVServer
	mu   sync.Mutex
	puts map[string]int
}

func (s *putServer) Put(_ context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts[string(r.Key)]++
	if len(r.Value) != floorValue {
		return nil, fmt.Errorf("the value must have %d bytes, got %d", floorValue, len(r.Value))
	}
	return &etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{Revision: int64(len(s.puts))}}, nil
}

// The floor puts every key once, over a gRPC server that sends PINGs and enlarges windows.
func TestFloorPut(t *testing.T) {
	for _, args := range []string{"-clients 1 -connections 1", "-clients 20 -connections 2", "-clients 20 -connections 4 -rate 10000"} {
		const requests = 5000
		server := &putServer{puts: map[string]int{}}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g := grpc.NewServer()
		etcdserverpb.RegisterKVServer(g, server)
		go func() { _ = g.Serve(l) }() // until Stop
		if err := floorPut(append(strings.Fields(args), "-endpoints", l.Addr().String(), "-requests", fmt.Sprint(requests))); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		g.Stop()
		for i := 1; i <= requests; i++ {
			if key := fmt.Sprintf("%0256d", i); server.puts[key] != 1 {
				t.Fatalf("%s: key %d was put %d times, want once", args, i, server.puts[key])
			}
		}
	}
}

// An answer without a message is a failure.
func TestFloorPutFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	go func() { _ = g.Serve(l) }() // until Stop
	defer g.Stop()
	err = floorPut([]string{"-endpoints", l.Addr().String(), "-requests", "100", "-clients", "2", "-connections", "2"})
	if err == nil || !strings.Contains(err.Error(), "100 of 100 requests failed") {
		t.Errorf("want that all requests failed, got %v", err)
	}
}
