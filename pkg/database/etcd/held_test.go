package etcd

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/pkg/databasetest"
)

// held returns the value, version and revisions of every key.
func held(t testing.TB, c *databasetest.Cluster) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := ask(c.Target(), 0, func(conn *grpc.ClientConn) error {
		resp, err := pb.NewKVClient(conn).Range(t.Context(), &pb.RangeRequest{Key: []byte(toEnd), RangeEnd: []byte(toEnd)})
		if err != nil {
			return err
		}
		for _, kv := range resp.Kvs {
			all[string(kv.Key)] = fmt.Sprintf("version %d, created at %d, changed at %d, %q", kv.Version, kv.CreateRevision, kv.ModRevision, kv.Value)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read all keys: %v", err)
	}
	return all
}
