package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

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

// appendPath appends where a key is. Different keys are in different places.
func (k Keyspace) appendPath(dst, key []byte) []byte {
	dst = k.appendParent(dst, int(crc32.ChecksumIEEE(key)%uint32(k.Parents)))
	return appendName(append(dst, '/'), key)
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

// lock is a znode that is there while somebody makes the parents. It goes with the
// session that made it.
func (k Keyspace) lock() string { return k.marker() + "-lock" }

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

// prepareTimeout bounds how long a dial waits until the parents are there. It
// outlasts the session of a maker that died.
const prepareTimeout = 30 * time.Second

// prepare makes the parents unless somebody did. Of many connections that do so at
// once, one makes them and the others wait: a proxy would fail transactions that
// run beside each other, because all of them change the root.
func (k Keyspace) prepare(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		if done, err := readable(ctx, s, k.marker()); err != nil || done {
			return err
		}
		mine, err := k.take(ctx, s)
		switch {
		case err != nil:
			return err
		case mine:
			return k.build(ctx, s)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return classify(ctx.Err(), false)
		}
	}
}

// take takes the lock unless somebody has it.
func (k Keyspace) take(ctx context.Context, s *session) (mine bool, err error) {
	// A look is cheaper than a create that fails.
	if n, err := s.children(ctx, k.lock()); err != nil || n >= 0 {
		return false, err
	}
	err = s.create(ctx, k.lock(), zk.FlagEphemeral)
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// build makes the parents and the marker, and gives the lock back. After an error
// the session is of no more use, and closing it gives the lock back.
func (k Keyspace) build(ctx context.Context, s *session) error {
	// The last who had the lock may have made them since the first look.
	done, err := readable(ctx, s, k.marker())
	if err != nil {
		return err
	}
	if !done {
		for first := 0; first < k.Parents; first += batchSize {
			if err := k.buildBatch(ctx, s, first, min(first+batchSize, k.Parents)); err != nil {
				return err
			}
		}
		// There only if a session, and its lock, expired while it built.
		if err := s.create(ctx, k.marker(), 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return s.remove(ctx, []byte(k.lock()))
}

// buildBatch makes the parents from first on, up to end, in one transaction; one by
// one if some are there, as they are when a maker died or their number changed.
func (k Keyspace) buildBatch(ctx context.Context, s *session, first, end int) error {
	ops := make([]any, 0, batchSize)
	for i := first; i < end; i++ {
		ops = append(ops, &zk.CreateRequest{Path: k.parent(i), Acl: s.access})
	}
	err := s.do(ctx, func(c *zk.Conn) error { _, err := c.Multi(ops...); return err })
	// A proxy does not say why a transaction failed.
	if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrAPIError) {
		return err
	}
	for i := first; i < end; i++ {
		if err := s.create(ctx, k.parent(i), 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
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
	if err := s.sync(ctx, []byte(k.marker())); err != nil {
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
