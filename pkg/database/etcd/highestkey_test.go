package etcd

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// TestHighestKeyAmongMany: more foreign keys than one read returns may lie after and
// between the own keys, and own keys may have numbers of any length.
func TestHighestKeyAmongMany(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const size, many = 13, 2*keysPerPage + 500
	c := startOne(t, "{log_level: warn, unsafe_no_fsync: true}")
	conn, err := connect(c.To(0))
	if err != nil {
		t.Fatalf("connect to the server: %v", err)
	}
	defer conn.Close()
	kv := pb.NewKVClient(conn)
	write := func(n int, key func(i int) string) {
		t.Helper()
		const batch = 100
		for first := 0; first < n; first += batch {
			txn := &pb.TxnRequest{}
			for i := first; i < min(first+batch, n); i++ {
				txn.Success = append(txn.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key(i))}}})
			}
			if _, err := kv.Txn(t.Context(), txn); err != nil {
				t.Fatalf("run the transaction: %v", err)
			}
		}
	}
	mustFind := func(why string, size int, want int64) {
		t.Helper()
		got, err := New().HighestKey(t.Context(), c.Target(), size)
		if err != nil || got != want {
			t.Errorf("%s: the highest key with size %d: want number %d, got %d, error %v", why, size, want, got, err)
		}
	}
	own := func(number int64) func(int) string {
		return func(int) string { return string(workload.AppendKey(nil, number, size)) }
	}
	mustFind("an empty store", size, -1)
	write(many, func(i int) string { return fmt.Sprintf("%012d", 100_000+i) })
	mustFind("only foreign keys", size, -1)
	mustFind("many own keys without gaps", 12, 100_000+many-1)
	write(1, own(5))
	mustFind("foreign keys behind it", size, 5)
	write(many, func(i int) string { return fmt.Sprintf("%013d-%d", 5, i) })
	mustFind("foreign keys between 5 and 6", size, 5)
	write(1, own(7_000_000))
	write(many, func(i int) string { return fmt.Sprintf("%013d", 3*i) })
	mustFind("a gap", size, 7_000_000)
	write(1, own(1<<62))
	mustFind("a number with more digits than the size", size, 1<<62)
	mustFind("keys of 1 byte", 1, 1<<62) // the same key
	mustFind("keys of 256 bytes", 256, -1)
}
