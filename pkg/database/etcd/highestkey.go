package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
	"github.com/coreos/dbtester/pkg/workload"
)

// HighestKey finds the highest key number by linearizable reads. Any member may answer.
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	t.Prefer = -1
	conn, err := connect(t)
	if err != nil {
		return 0, fmt.Errorf("find the highest etcd key: %w", err)
	}
	f := keyFinder{kv: pb.NewKVClient(conn), prefix: t.KeyPrefix(), size: keySize}
	highest, err := f.highest(ctx)
	if err = errors.Join(err, conn.Close()); err != nil {
		return 0, fmt.Errorf("find the highest etcd key: %w", err)
	}
	return highest, nil
}

// keyFinder finds the highest key of a size. To return the last key in a range, etcd reads and
// sorts the whole range and its values. Counts need only the index, so they find where the keys
// end. Only that end is read: at most keysPerPage names at once.
type keyFinder struct {
	kv     pb.KVClient
	prefix string // of stored keys
	size   int    // without the prefix
}

// keysPerPage is the maximum number of names in one read.
const keysPerPage = 1000

// maxDigits is the number of digits in the largest key number.
const maxDigits = 19

// highest tries the longest keys first: they have the highest numbers.
func (f *keyFinder) highest(ctx context.Context) (int64, error) {
	for length := max(f.size, maxDigits); length >= f.size; length-- {
		if n, err := f.ofLength(ctx, length); n >= 0 || err != nil {
			return n, err
		}
	}
	return -1, nil
}

// numbers returns the smallest and the largest number whose key has that length.
func (f *keyFinder) numbers(length int) (low, high int64) {
	if length > f.size {
		low = int64(math.Pow10(length - 1))
	}
	if length >= maxDigits {
		return low, math.MaxInt64
	}
	return low, int64(math.Pow10(length)) - 1
}

// ofLength returns the highest number whose key has that length, or -1. Such keys are sorted by
// number, with foreign keys between them. It reads keys from the end until it finds one that is not
// foreign, each time twice as many, because finding the start takes up to 64 counts.
func (f *keyFinder) ofLength(ctx context.Context, length int) (int64, error) {
	low, high := f.numbers(length)
	end := append(f.key(high), 0)
	for keys := int64(keysPerPage); ; keys *= 2 {
		first, err := f.tail(ctx, low, high, end, keys)
		if err != nil || first < 0 {
			return -1, err
		}
		n, err := f.read(ctx, first, end, length)
		if n >= 0 || err != nil || first == low {
			return n, err
		}
		high, end = first-1, f.key(first)
	}
}

// tail returns the largest number in [low, high] with at least that many keys from its
// own key to end. It returns low if there are fewer keys, and -1 without any.
func (f *keyFinder) tail(ctx context.Context, low, high int64, end []byte, keys int64) (int64, error) {
	total, err := f.count(ctx, low, end)
	switch {
	case err != nil || total == 0:
		return -1, err
	case total <= keys:
		return low, nil
	}
	// The search finds the first number with fewer keys, which is one higher.
	above := sort.Search(int(high-low), func(i int) bool {
		if err != nil {
			return true
		}
		var n int64
		n, err = f.count(ctx, low+1+int64(i), end)
		return n < keys
	})
	return low + int64(above), err
}

// count counts the keys from the one with a number to end.
func (f *keyFinder) count(ctx context.Context, from int64, end []byte) (int64, error) {
	resp, err := f.kv.Range(ctx, &pb.RangeRequest{Key: f.key(from), RangeEnd: end, CountOnly: true})
	if err != nil {
		return 0, answer.Classify(err, false)
	}
	return resp.Count, nil
}

// read returns the highest number whose key has that length in the half-open range from the key
// with a number to end, or -1.
func (f *keyFinder) read(ctx context.Context, from int64, end []byte, length int) (int64, error) {
	highest := int64(-1)
	for key := f.key(from); ; {
		resp, err := f.kv.Range(ctx, &pb.RangeRequest{Key: key, RangeEnd: end, KeysOnly: true, Limit: keysPerPage})
		if err != nil {
			return 0, answer.Classify(err, false)
		}
		for _, kv := range resp.Kvs {
			if bytes.Compare(kv.Key, key) < 0 {
				return 0, fmt.Errorf("the server was asked for keys from %q on, and answered with the key %q", key, kv.Key)
			}
			key, err := database.WithoutPrefix(f.prefix, string(kv.Key))
			if err != nil {
				return 0, err
			}
			if n, ok := workload.KeyNumber([]byte(key), f.size); ok && len(key) == length {
				highest = max(highest, n)
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return highest, nil
		}
		key = append(bytes.Clone(resp.Kvs[len(resp.Kvs)-1].Key), 0)
	}
}

func (f *keyFinder) key(number int64) []byte {
	return workload.AppendKey([]byte(f.prefix), number, f.size)
}
