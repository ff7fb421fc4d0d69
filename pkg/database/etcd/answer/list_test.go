package answer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestList has a server with the keys k0 to k6, 10 bytes each, at revision 42.
func TestList(t *testing.T) {
	var asked []string
	read := func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		asked = append(asked, fmt.Sprintf("%q limit %d revision %d keys %t count %t", r.Key, r.Limit, r.Revision, r.KeysOnly, r.CountOnly))
		resp := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 42}}
		for i := range 7 {
			key := fmt.Sprintf("k%d", i)
			if key < string(r.Key) {
				continue
			}
			resp.Count++
			switch {
			case r.CountOnly:
			case r.Limit > 0 && len(resp.Kvs) == int(r.Limit):
				resp.More = true
			default:
				kv := &mvccpb.KeyValue{Key: []byte(key)}
				if !r.KeysOnly {
					kv.Value = make([]byte, 10)
				}
				resp.Kvs = append(resp.Kvs, kv)
			}
		}
		return resp, nil
	}
	for _, c := range []struct {
		how   workload.RangeMode
		keys  int
		size  int64
		asked []string
	}{
		{workload.RangeKeys, 2, 0, []string{`"k2" limit 2 revision 0 keys true count false`}},
		{workload.RangeCount, 5, 0, []string{`"k2" limit 0 revision 0 keys false count true`}},
		{workload.RangePages, 5, 50, []string{
			`"k2" limit 2 revision 0 keys false count false`,
			`"k3\x00" limit 2 revision 42 keys false count false`,
			`"k5\x00" limit 2 revision 42 keys false count false`,
		}},
	} {
		asked = nil
		keys, size, err := List(c.how, []byte("k2"), []byte{0}, 2, read)
		if err != nil || keys != c.keys || size != c.size || fmt.Sprint(asked) != fmt.Sprint(c.asked) {
			t.Errorf("%s: %d keys, %d bytes, %v, by %v; want %d, %d by %v", c.how, keys, size, err, asked, c.keys, c.size, c.asked)
		}
	}
	if _, _, err := List("sorted", nil, nil, 1, read); err == nil {
		t.Error("an unknown mode was read")
	}
	broken := errors.New("broken")
	pages := 0
	_, _, err := List(workload.RangePages, []byte("k0"), nil, 2, func(r *pb.RangeRequest) (*pb.RangeResponse, error) {
		if pages++; pages == 2 {
			return nil, broken
		}
		return read(r)
	})
	if !errors.Is(err, broken) {
		t.Errorf("a second page that fails: %v", err)
	}
	// A server that always gives the same page would be asked for ever.
	_, _, err = List(workload.RangePages, []byte("k0"), nil, 2, func(*pb.RangeRequest) (*pb.RangeResponse, error) {
		return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 42}, More: true, Kvs: []*mvccpb.KeyValue{{Key: []byte("k1")}}}, nil
	})
	if err == nil || !strings.Contains(err.Error(), `ends with the key "k1", before its first key "k1\x00"`) {
		t.Errorf("a page that comes again: %v", err)
	}
}
