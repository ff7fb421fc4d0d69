package answer

import (
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestParts: the sums over a stream hold only if its last part came, and count the parts that came.
func TestParts(t *testing.T) {
	part := func(values ...string) *pb.RangeResponse {
		r := &pb.RangeResponse{}
		for _, v := range values {
			r.Kvs = append(r.Kvs, &mvccpb.KeyValue{Key: []byte("k"), Value: []byte(v)})
		}
		return r
	}
	last := func(count int64, values ...string) *pb.RangeResponse {
		r := part(values...)
		r.Header, r.Count = &pb.ResponseHeader{Revision: 42}, count
		return r
	}
	for _, c := range []struct {
		name  string
		parts []*pb.RangeResponse
		keys  int
		size  int64
		err   string
	}{
		{"no keys", []*pb.RangeResponse{last(0)}, 0, 0, ""},
		{"one part", []*pb.RangeResponse{last(2, "a", "bc")}, 2, 3, ""},
		{"parts", []*pb.RangeResponse{part("a", "b"), part("c"), last(4, "defg")}, 4, 7, ""},
		{"nothing", nil, 0, 0, "ends without its last part"},
		{"a part that is missing", []*pb.RangeResponse{part("a"), last(3, "b")}, 0, 0, "has 2 keys, but its last part counts 3"},
		{"no last part", []*pb.RangeResponse{part("a"), part("b")}, 0, 0, "ends without its last part"},
		{"parts after the last", []*pb.RangeResponse{last(1, "a"), part("b")}, 0, 0, "ends without its last part"},
		{"an empty part", []*pb.RangeResponse{nil}, 0, 0, "ends without its last part"},
	} {
		var sum Parts
		for _, p := range c.parts {
			sum.Add(p)
		}
		keys, size, err := sum.Sum()
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || keys != c.keys || size != c.size {
			t.Errorf("%s: %d keys, %d bytes, %v; want %d, %d, %q", c.name, keys, size, err, c.keys, c.size, c.err)
		}
	}
}

// TestWithoutStream: only the answer from a server that does not know the call says which release
// is needed.
func TestWithoutStream(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{Classify(status.Error(codes.Unimplemented, "unknown method RangeStream"), true), true},
		{Classify(status.Error(codes.Unavailable, "no leader"), true), false},
	} {
		err := WithoutStream(c.err)
		if errors.Is(err, database.ErrNoRangeMode) != c.want {
			t.Errorf("%v: %v", c.err, err)
		}
		if outcome, class := database.Classify(err); c.want && (outcome != workload.Failed || class != database.ClassOther || !strings.Contains(err.Error(), "etcd 3.7 or later")) {
			t.Errorf("%v: %v, %v", err, outcome, class)
		}
	}
}
