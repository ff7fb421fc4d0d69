package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
)

// watchServer sends each put to all watchers.
type watchServer struct {
	etcdserverpb.UnimplementedKVServer
	etcdserverpb.UnimplementedWatchServer
	mu       sync.Mutex
	puts     int
	watchers map[string][]func(*etcdserverpb.WatchResponse) error // by key
}

func (s *watchServer) Put(_ context.Context, r *etcdserverpb.PutRequest) (*etcdserverpb.PutResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	for _, send := range s.watchers[string(r.Key)] {
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: r.Key, Value: r.Value, ModRevision: int64(s.puts)}}
		if err := send(&etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: int64(s.puts)}, WatchId: 300, Events: []*mvccpb.Event{event}}); err != nil {
			return nil, err
		}
	}
	return &etcdserverpb.PutResponse{Header: &etcdserverpb.ResponseHeader{Revision: int64(s.puts)}}, nil
}

func (s *watchServer) Watch(stream etcdserverpb.Watch_WatchServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		s.mu.Lock()
		key := string(r.GetCreateRequest().Key)
		s.watchers[key] = append(s.watchers[key], stream.Send)
		err = stream.Send(&etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{}, Created: true})
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// The floor ends when each watcher has had each put.
func TestFloorWatch(t *testing.T) {
	server := &watchServer{watchers: map[string][]func(*etcdserverpb.WatchResponse) error{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	etcdserverpb.RegisterKVServer(g, server)
	etcdserverpb.RegisterWatchServer(g, server)
	go func() { _ = g.Serve(l) }() // until Stop
	defer g.Stop()
	const watchers, puts = 207, 500
	args := fmt.Sprintf("-endpoints %s -watchers %d -puts %d -connections 4 -rate 5000", l.Addr(), watchers, puts)
	if err := floorWatch(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if n := len(server.watchers[strings.Repeat("0", watchedKey)]); n != watchers || server.puts != puts {
		t.Errorf("the server had %d watchers of the key and %d puts, want %d and %d", n, server.puts, watchers, puts)
	}
}

// Events are counted however the messages are cut, and a message that is not a response is an error.
func TestStream(t *testing.T) {
	event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), Value: make([]byte, 300), ModRevision: 1 << 40}}
	var data []byte
	for _, r := range []*etcdserverpb.WatchResponse{{Created: true}, {Header: &etcdserverpb.ResponseHeader{ClusterId: 1 << 63}, WatchId: -1, Events: []*mvccpb.Event{event, event}}, {Events: []*mvccpb.Event{event}}} {
		body, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		data = append(append(data, 0, 0, 0, byte(len(body)>>8), byte(len(body))), body...)
	}
	for size := 1; size <= len(data); size++ {
		f := &watchFloor{}
		s := &stream{floor: f}
		for at := 0; at < len(data); at += size {
			if err := s.take(data[at:min(at+size, len(data))]); err != nil {
				t.Fatal(err)
			}
		}
		if f.created != 1 || f.events != 3 || len(s.rest) != 0 {
			t.Fatalf("in pieces of %d bytes: %d watches and %d events, want 1 and 3; %d bytes are left", size, f.created, f.events, len(s.rest))
		}
	}
	for name, body := range map[string][]byte{"canceled": {fieldCanceled << 3, 1}, "cut": {fieldEvents<<3 | lengthDelimited, 9, 1}, "without a value": {fieldCreated << 3}} {
		if (&watchFloor{}).response(body) == nil {
			t.Errorf("a response that is %s was taken", name)
		}
	}
}
