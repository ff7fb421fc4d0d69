package etcd

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// A number is found among message fields, and a message that ends too early is refused.
func TestNumberIn(t *testing.T) {
	message, err := proto.Marshal(&pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 3}, ID: -5, TTL: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[protowire.Number]int64{leaseID: 0, 2: -5, renewedTTL: 1 << 40, 9: 0} {
		if got, err := numberIn(message, field); err != nil || got != want {
			t.Errorf("field %d is %d (%v), want %d", field, got, err, want)
		}
	}
	for n := range len(message) {
		if _, err := numberIn(message[:n], 2); err == nil {
			var whole pb.LeaseKeepAliveResponse
			if proto.Unmarshal(message[:n], &whole) != nil {
				t.Errorf("the first %d of %d bytes are taken for a message", n, len(message))
			}
		}
	}
	request := &pb.LeaseKeepAliveRequest{}
	if err := proto.Unmarshal(number(leaseID, -5), request); err != nil || request.ID != -5 {
		t.Errorf("the number is sent as %d: %v", request.ID, err)
	}
}
