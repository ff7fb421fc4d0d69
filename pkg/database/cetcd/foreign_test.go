package cetcd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
)

// foreignKV answers each range with one key, whatever the request.
type foreignKV struct{ pb.KVClient }

func (foreignKV) Range(context.Context, *pb.RangeRequest, ...grpc.CallOption) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 1}, Kvs: []*mvccpb.KeyValue{{Key: []byte("k")}}}, nil
}

// TestForeignNames: if etcd returns a key outside the prefix, the request fails.
func TestForeignNames(t *testing.T) {
	p := &proxy{store: &store{kv: foreignKV{}}}
	w := httptest.NewRecorder()
	respond(p.getKeys)(w, httptest.NewRequest(http.MethodGet, "/v1/kv/bench/?keys&separator=/", nil))
	const want = `begin with "bench/", and answered with the key "k"`
	if w.Code < 500 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("want an error of the server with %q, got %d: %s", want, w.Code, w.Body)
	}
}
