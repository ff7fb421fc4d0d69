package answer

import (
	"bytes"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Lists returns the modes in which [List] can read.
func Lists() []workload.RangeMode {
	return []workload.RangeMode{workload.RangeKeys, workload.RangeCount, workload.RangePages, workload.RangeStream}
}

// List reads the keys from first up to the exclusive end in a mode other than
// [workload.RangeValues] and [workload.RangeStream], for which see [Parts]. All pages have the
// revision of the first one.
func List(how workload.RangeMode, first, end []byte, limit int, read func(*pb.RangeRequest) (*pb.RangeResponse, error)) (keys int, size int64, err error) {
	r := &pb.RangeRequest{Key: first, RangeEnd: end, Limit: int64(limit)}
	switch how {
	case workload.RangeCount:
		r.Limit, r.CountOnly = 0, true
		resp, err := read(r)
		if err != nil {
			return 0, 0, err
		}
		return int(resp.Count), 0, nil
	case workload.RangeKeys:
		r.KeysOnly = true
	case workload.RangePages:
	default:
		return 0, 0, database.NotApplied(database.ClassOther, fmt.Errorf("ranges of the mode %q are not known", how))
	}
	for {
		resp, err := read(r)
		if err != nil {
			return 0, 0, err
		}
		keys += len(resp.Kvs)
		for _, kv := range resp.Kvs {
			size += int64(len(kv.Value))
		}
		if how != workload.RangePages || !resp.More || len(resp.Kvs) == 0 {
			return keys, size, nil
		}
		last := resp.Kvs[len(resp.Kvs)-1].Key
		switch {
		case bytes.Compare(last, r.Key) < 0:
			return 0, 0, fmt.Errorf("a page of a range ends with the key %q, before its first key %q", last, r.Key)
		case resp.GetHeader().GetRevision() == 0:
			return 0, 0, errors.New("a page of a range came without a revision")
		}
		r.Key, r.Revision = after(last), resp.GetHeader().GetRevision()
	}
}
