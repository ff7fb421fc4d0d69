package answer

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// TestModRevisions: a thousand versions are one request, and other keys between them cost another
// page.
func TestModRevisions(t *testing.T) {
	key := func(n int) []byte { return fmt.Appendf(nil, "%06d", n) }
	for _, tt := range []struct{ others, requests int }{{0, 1}, {900, 2}, {2000, 3}} {
		var keys [][]byte
		var stored []*mvccpb.KeyValue
		for n := range 1000 {
			keys = append(keys, key(n))
			if n != 500 {
				stored = append(stored, &mvccpb.KeyValue{Key: key(n), ModRevision: int64(n + 1)})
			}
			for m := tt.others * n / 1000; m < tt.others*(n+1)/1000; m++ {
				stored = append(stored, &mvccpb.KeyValue{Key: fmt.Appendf(nil, "%06d/%d", n, m), ModRevision: 7})
			}
		}
		requests := 0
		got := make([]int64, len(keys))
		err := ModRevisions(keys, got, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
			requests++
			if !r.KeysOnly || r.Serializable || string(r.RangeEnd) != "000999\x00" {
				t.Fatalf("the request is %v, want a linearizable one without values, up to the last key", r)
			}
			resp := &pb.RangeResponse{}
			for _, kv := range stored {
				if string(kv.Key) >= string(r.Key) && string(kv.Key) < string(r.RangeEnd) {
					if resp.More = int64(len(resp.Kvs)) == r.Limit; resp.More {
						break
					}
					resp.Kvs = append(resp.Kvs, kv)
				}
			}
			return resp, nil
		})
		if err != nil || requests != tt.requests {
			t.Errorf("%d other keys: %d requests, %v; want %d", tt.others, requests, err, tt.requests)
		}
		for n, v := range got {
			if want := int64(n + 1); v != want && (n != 500 || v != 0) {
				t.Errorf("%d other keys: key %d has version %d, want %d", tt.others, n, v, want)
			}
		}
	}
}
