package answer

import (
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/pkg/database"
)

// Parts sums the parts of a streamed range. The zero value is the sum of no parts.
type Parts struct {
	Keys int
	Size int64 // of all values, in bytes
	// Revision and Count come from the last part, which alone has them: the state of the data, and
	// the number of keys in the range.
	Revision, Count int64
}

// Add adds a part.
func (p *Parts) Add(part *pb.RangeResponse) {
	p.Keys += len(part.GetKvs())
	for _, kv := range part.GetKvs() {
		p.Size += int64(len(kv.GetValue()))
	}
	p.Revision, p.Count = part.GetHeader().GetRevision(), part.GetCount()
}

// Sum returns the sums after the last part of a range without a limit.
func (p *Parts) Sum() (keys int, size int64, err error) {
	switch {
	case p.Revision == 0:
		return 0, 0, errors.New("the stream of a range ends without its last part")
	case p.Count != int64(p.Keys):
		return 0, 0, fmt.Errorf("the stream of a range has %d keys, but its last part counts %d", p.Keys, p.Count)
	}
	return p.Keys, p.Size, nil
}

// WithoutStream adds [database.ErrNoRangeMode] to the error for a streamed range the server does
// not know.
func WithoutStream(err error) error {
	if status.Code(err) == codes.Unimplemented {
		return database.NotApplied(database.ClassOther, fmt.Errorf("%w: range_mode stream needs members of etcd 3.7 or later without etcd's gRPC proxy: %w", database.ErrNoRangeMode, err))
	}
	return err
}
