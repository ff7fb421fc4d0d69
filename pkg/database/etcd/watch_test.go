package etcd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
)

// The fields of events are read as protobuf's own decoder reads them, and broken messages are
// errors.
func TestWatchMessages(t *testing.T) {
	resp := &pb.WatchResponse{
		Header: &pb.ResponseHeader{ClusterId: 1 << 60, Revision: 12}, WatchId: 42, Fragment: true,
		Events: []*mvccpb.Event{
			{Kv: &mvccpb.KeyValue{Key: []byte("a/one"), Value: []byte("first"), ModRevision: 11, CreateRevision: 3, Version: 4, Lease: 5}},
			{Kv: &mvccpb.KeyValue{Key: []byte("b/other"), Value: []byte("theirs"), ModRevision: 11}},
			{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{Key: []byte("a/two"), ModRevision: 12}, PrevKv: &mvccpb.KeyValue{Key: []byte("a/no"), Value: []byte("no"), ModRevision: 2}},
		},
	}
	message, err := proto.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	watch, events, err := appendEvents(nil, message, []byte("a/"))
	want := []database.WatchEvent{{Key: []byte("one"), Value: []byte("first"), Version: 11}, {Key: []byte("two"), Version: 12}}
	if err != nil || watch != 42 {
		t.Errorf("watch %d, %v, want 42", watch, err)
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for n := range message {
		if _, events, err := appendEvents(nil, message[:n], nil); err == nil && len(events) == len(resp.Events) {
			t.Errorf("%d of %d bytes are not all events: %v", n, len(message), events)
		}
	}
	message, err = proto.Marshal(&pb.WatchResponse{Header: &pb.ResponseHeader{Revision: 12}, WatchId: -1})
	if err != nil {
		t.Fatal(err)
	}
	if watch, events, err := appendEvents(nil, message, nil); watch != -1 || len(events) > 0 || err != nil {
		t.Errorf("progress is watch %d with %d events, %v; want -1 and none", watch, len(events), err)
	}
}
