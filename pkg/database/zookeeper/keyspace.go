package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// DefaultParents spreads the keys so that a thousand clients seldom write under
// one parent at the same time. ZooKeeper does not need it; a proxy to a database
// with optimistic transactions does, because every create changes the parent.
const DefaultParents = 1000

// batchSize is how many parents are made in one transaction. A proxy turns each
// into 7 puts, and etcd takes 128 in one.
const batchSize = 16

// Keyspace is the law by which keys become znodes: "/PARENT/NAME".
type Keyspace struct {
	// Parents is how many parents there are, at least 1.
	Parents int
}

// path returns where a key is. Different keys are in different places.
func (k Keyspace) path(key []byte) string {
	path := make([]byte, 0, k.pathSize(len(key))+8)
	path = k.appendParent(path, int(crc32.ChecksumIEEE(key)%uint32(k.Parents)))
	return string(appendName(append(path, '/'), key))
}

// pathSize is the length of the path of a key of keySize bytes that needs no
// escapes.
func (k Keyspace) pathSize(keySize int) int { return len("/") + k.width() + len("/") + keySize }

// width is the number of digits of a parent.
func (k Keyspace) width() int { return len(strconv.Itoa(k.Parents - 1)) }

func (k Keyspace) parent(i int) string { return string(k.appendParent(nil, i)) }

func (k Keyspace) appendParent(dst []byte, i int) []byte {
	var digits [20]byte
	n := strconv.AppendInt(digits[:0], int64(i), 10)
	dst = append(dst, '/')
	for range k.width() - len(n) {
		dst = append(dst, '0')
	}
	return append(dst, n...)
}

// marker is a znode that is there once all parents are.
func (k Keyspace) marker() string { return "/parents-" + strconv.Itoa(k.Parents) }

// appendName appends the name of a key, which ZooKeeper wants to be text without
// "/", never empty and neither "." nor "..". A byte that is not visible ASCII,
// "/" and "%" become "%XX"; the two forbidden names become "%2E" and "%2E%2E",
// and the empty key becomes "%", which is no escape and so no other key's name.
func appendName(dst, key []byte) []byte {
	if len(key) == 0 {
		return append(dst, '%')
	}
	dots := string(key) == "." || string(key) == ".."
	for _, b := range key {
		if b > ' ' && b < 0x7f && b != '/' && b != '%' && !dots {
			dst = append(dst, b)
			continue
		}
		const hex = "0123456789ABCDEF"
		dst = append(dst, '%', hex[b>>4], hex[b&15])
	}
	return dst
}

// prepare makes the parents unless somebody did. Many connections may do so at
// once: they share the work, because each goes through the batches in an order
// of its own and skips those that are done.
func (k Keyspace) prepare(ctx context.Context, s *session) error {
	done, err := s.children(ctx, k.marker())
	if err != nil || done >= 0 {
		return err
	}
	batches := (k.Parents + batchSize - 1) / batchSize
	for _, i := range rand.Perm(batches) {
		if err := k.prepareBatch(ctx, s, i*batchSize, min((i+1)*batchSize, k.Parents)); err != nil {
			return err
		}
	}
	return s.create(ctx, k.marker())
}

// prepareBatch makes the parents from first on, up to end. Whoever makes some of
// them one by one makes the last one last, so that it stands for all.
func (k Keyspace) prepareBatch(ctx context.Context, s *session, first, end int) error {
	if done, err := s.children(ctx, k.parent(end-1)); err != nil || done >= 0 {
		return err
	}
	ops := make([]any, 0, batchSize)
	for i := first; i < end; i++ {
		ops = append(ops, &zk.CreateRequest{Path: k.parent(i), Acl: openToAll()})
	}
	err := s.do(ctx, func(c *zk.Conn) error { _, err := c.Multi(ops...); return err })
	// A proxy does not say why a transaction failed.
	if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrAPIError) {
		return err
	}
	for i := first; i < end; i++ {
		if err := s.create(ctx, k.parent(i)); err != nil {
			return err
		}
	}
	return nil
}

// count adds up the children of the parents, in a session that was opened after
// the writes that must be counted: opening it is a write of its own, which the
// server applied after them. The sync is for a proxy, whose sessions are not in
// the same order as its keys. A parent that is not there has none.
func (k Keyspace) count(ctx context.Context, s *session) (int64, error) {
	if err := s.sync(ctx, k.marker()); err != nil {
		return 0, fmt.Errorf("sync: %w", err)
	}
	var sum int64
	for i := range k.Parents {
		n, err := s.children(ctx, k.parent(i))
		if err != nil {
			return 0, err
		}
		sum += int64(max(n, 0))
	}
	return sum, nil
}
