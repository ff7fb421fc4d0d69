package answer

import (
	"bytes"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
)

// ErrConflict is the reason that a swap changed nothing.
var ErrConflict = errors.New("the key holds another value")

var errVersion = errors.New("a key has another version")

// Settle takes the versions from the answer to a guarded transaction. All keys in one transaction
// get its revision.
func Settle(puts []database.GuardedPut, resp *pb.TxnResponse) error {
	if resp.Succeeded {
		for i := range puts {
			puts[i].Version = resp.GetHeader().GetRevision()
		}
		return nil
	}
	for i := range puts {
		puts[i].Version = database.UnknownVersion
		if i >= len(resp.Responses) {
			continue
		}
		if held := resp.Responses[i].GetResponseRange(); held != nil {
			puts[i].Version = ModRevision(held)
		}
	}
	return database.NotApplied(database.ClassConflict, errVersion)
}

// ModRevision returns the version of the one key that was read.
func ModRevision(r *pb.RangeResponse) int64 {
	if len(r.Kvs) == 0 {
		return database.NoVersion
	}
	return r.Kvs[0].ModRevision
}

// ModRevisions reads the keys from the first to the last in as few ranges as there are
// pages of that many keys. Other keys in between are passed over.
func ModRevisions(keys [][]byte, versions []int64, read func(*pb.RangeRequest) (*pb.RangeResponse, error)) error {
	clear(versions) // to database.NoVersion
	if len(keys) == 0 {
		return nil
	}
	r := &pb.RangeRequest{Key: keys[0], RangeEnd: after(keys[len(keys)-1]), Limit: int64(len(keys)), KeysOnly: true}
	for i := 0; ; {
		resp, err := read(r)
		if err != nil {
			return err
		}
		for _, kv := range resp.Kvs {
			for i < len(keys) && bytes.Compare(keys[i], kv.Key) < 0 {
				i++
			}
			if i < len(keys) && bytes.Equal(keys[i], kv.Key) {
				versions[i] = kv.ModRevision
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		r.Key = after(resp.Kvs[len(resp.Kvs)-1].Key)
	}
}

// after returns the first key that is greater.
func after(key []byte) []byte { return append(append(make([]byte, 0, len(key)+1), key...), 0) }
