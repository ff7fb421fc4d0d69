package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// DefaultParents spreads the keys so widely that a thousand clients seldom write below the
// same parent at the same time. A proxy to a database with optimistic transactions needs
// that, because every create changes the parent; ZooKeeper does not.
const DefaultParents = 1000

// batchSize is the number of parents that one transaction creates. A proxy turns each into 7 puts,
// and etcd accepts 128 in one transaction.
const batchSize = 16

// Keyspace maps keys to znodes: "/PARENT/NAME", or "/PREFIX/PARENT/NAME".
type Keyspace struct {
	// Parents is the number of parents, at least 1.
	Parents int
	// root is "/PREFIX" or empty.
	root string
}

// below returns the keyspace below a target prefix, if it has one.
func (k Keyspace) below(t database.Target) Keyspace {
	k.root = ""
	if t.Prefix != "" {
		k.root = "/" + t.Prefix
	}
	return k
}

// appendPath appends the path of a key. Different keys have different paths.
func (k Keyspace) appendPath(dst, key []byte) []byte {
	dst = k.appendParent(dst, int(crc32.ChecksumIEEE(key)%uint32(k.Parents)))
	return appendName(append(dst, '/'), key)
}

// pathSize returns the length of the path for a key of keySize bytes without escapes.
func (k Keyspace) pathSize(keySize int) int {
	return len(k.root) + len("/") + k.width() + len("/") + keySize
}

// width returns the number of digits in a parent.
func (k Keyspace) width() int { return len(strconv.Itoa(k.Parents - 1)) }

func (k Keyspace) parent(i int) string { return string(k.appendParent(nil, i)) }

func (k Keyspace) appendParent(dst []byte, i int) []byte {
	var digits [20]byte
	n := strconv.AppendInt(digits[:0], int64(i), 10)
	dst = append(append(dst, k.root...), '/')
	for range k.width() - len(n) {
		dst = append(dst, '0')
	}
	return append(dst, n...)
}

// marker returns the path of a znode that exists once all parents do.
func (k Keyspace) marker() string { return k.root + markerPrefix + strconv.Itoa(k.Parents) }

const markerPrefix = "/parents-"

// lock returns the path of an ephemeral znode that exists while a session creates the parents.
func (k Keyspace) lock() string { return k.marker() + "-lock" }

// appendName appends the name of a key. A name must be text without "/", not empty, and neither "."
// nor "..". "/", "%" and bytes that are not visible ASCII become "%XX"; the two forbidden names
// become "%2E" and "%2E%2E"; the empty key becomes "%", which is not an escape and so not the name
// of another key.
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

// prepareTimeout bounds the time for which a dial waits for the parents. It is longer than the
// session of a client that died while creating them.
const prepareTimeout = 30 * time.Second

// prepare creates the parents unless they exist. If there are many connections, one
// creates them and the others wait: a proxy fails concurrent transactions, because they
// all change the root.
func (k Keyspace) prepare(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for rooted := false; ; {
		if done, err := readable(ctx, s, k.marker()); err != nil || done {
			return err
		}
		if !rooted {
			if err := k.makeRoot(ctx, s); err != nil {
				return err
			}
			rooted = true
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

// makeRoot creates the missing znodes in the prefix.
func (k Keyspace) makeRoot(ctx context.Context, s *session) error {
	for end := range k.root + "/" {
		if path := (k.root + "/")[:end]; path != "" && (k.root + "/")[end] == '/' {
			if err := s.create(ctx, path, 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
		}
	}
	return nil
}

// take takes the lock, and returns false if another session has it.
func (k Keyspace) take(ctx context.Context, s *session) (mine bool, err error) {
	// A read is cheaper than a create that fails.
	if n, err := s.children(ctx, k.lock()); err != nil || n >= 0 {
		return false, err
	}
	err = s.create(ctx, k.lock(), zk.FlagEphemeral)
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// build creates the parents and the marker, and removes the lock. After an error the
// session must be closed, which removes the lock.
func (k Keyspace) build(ctx context.Context, s *session) error {
	// The last lock holder may have created the parents since the first read.
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
		// The marker exists only if a session expired with its lock while it created the parents.
		if err := s.create(ctx, k.marker(), 0); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return s.remove(ctx, []byte(k.lock()))
}

// buildBatch creates the parents in the half-open range [first, end) in one
// transaction. If some exist (a client died, or their number changed) it creates them
// one by one.
func (k Keyspace) buildBatch(ctx context.Context, s *session, first, end int) error {
	ops := make([]any, 0, batchSize)
	for i := first; i < end; i++ {
		ops = append(ops, &zk.CreateRequest{Path: k.parent(i), Acl: s.access})
	}
	err := s.do(ctx, func(c *zk.Conn) error { _, err := c.Multi(ops...); return err })
	// A proxy reports no reason for a failed transaction.
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

// count returns the total number of children of all parents. The session must have been opened
// after the writes to count: opening it is itself a write, which the server applies after them. The
// sync is for a proxy, which does not order sessions and keys. A missing parent has no children.
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

// highest returns the highest key number among the children of all parents, or -1. The session must
// have been opened as for count.
func (k Keyspace) highest(ctx context.Context, s *session, keySize int) (int64, error) {
	if err := s.sync(ctx, []byte(k.marker())); err != nil {
		return 0, fmt.Errorf("sync: %w", err)
	}
	highest := int64(-1)
	for i := range k.Parents {
		names, err := s.names(ctx, k.parent(i))
		if err != nil {
			return 0, fmt.Errorf("list the keys under %s, which must have at most %d bytes: %w", k.parent(i), maxListing, err)
		}
		for _, name := range names {
			if n, ok := workload.KeyNumber([]byte(name), keySize); ok {
				highest = max(highest, n)
			}
		}
	}
	return highest, nil
}
