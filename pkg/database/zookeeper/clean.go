package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// Clean removes keys below the prefix, in transactions of at most batchSize znodes. It then removes
// their parents and the last prefix znode, if nothing else is below it. Higher znodes, such as "/a"
// of the prefix "a/b", may belong to others and stay. It fails if a parent has a listing larger
// than maxListing.
func (p Protocol) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(keys int64)) error {
	if t.Prefix == "" {
		return errors.New("clean: there is no prefix")
	}
	t.Prefer = -1
	s, err := openFor(ctx, t, p.bufferSize(1)+batchSize*maxPath, maxListing)
	if err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	defer s.close()
	if err := p.Keys.below(t).clean(ctx, s, which, removed); err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	return nil
}

// maxPath bounds a path in a request that removes several, in bytes. Longer paths are
// removed one by one.
const maxPath = 2 << 10

func (k Keyspace) clean(ctx context.Context, s *session, which database.Removable, removed func(int64)) error {
	if err := s.sync(ctx, []byte(k.marker())); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	sum := int64(0)
	var parents []string
	for i := range k.Parents {
		parent := k.parent(i)
		names, err := s.names(ctx, parent)
		if err != nil {
			return fmt.Errorf("list the keys under %s, which must have at most %d bytes: %w", parent, maxListing, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !k.removes(which, parent, name) })
		for batch := range slices.Chunk(names, batchSize) {
			paths := make([]string, len(batch))
			for n, name := range batch {
				paths[n] = parent + "/" + name
			}
			n, err := s.removeAll(ctx, paths)
			if sum += int64(n); n > 0 {
				removed(sum)
			}
			if err != nil {
				return err
			}
		}
		parents = append(parents, parent)
	}
	// A client that finds the marker assumes that the parents exist.
	for _, path := range []string{k.marker(), k.lock()} {
		if _, err := s.removeAll(ctx, []string{path}); err != nil {
			return err
		}
	}
	for first := 0; first < len(parents); first += batchSize {
		if _, err := s.removeAll(ctx, parents[first:min(first+batchSize, len(parents))]); err != nil {
			return err
		}
	}
	_, err := s.removeAll(ctx, []string{k.root})
	return err
}

// removes reports whether a child of a parent is removed. A number below a wrong parent is no key
// of a load.
func (k Keyspace) removes(which database.Removable, parent, name string) bool {
	return which.All || which.Has([]byte(name)) && string(k.appendPath(nil, []byte(name))) == parent+"/"+name
}

// removeAll removes znodes in one transaction, or one by one if the transaction fails. It
// skips znodes that are gone or have children, and returns the number of removed ones.
func (s *session) removeAll(ctx context.Context, paths []string) (n int, err error) {
	if len(paths) > 1 && len(paths[0]) < maxPath {
		ops := make([]any, len(paths))
		for i, path := range paths {
			ops[i] = &zk.DeleteRequest{Path: path, Version: anyVersion}
		}
		err := s.do(ctx, func(c *zk.Conn) error { _, err := c.Multi(ops...); return err })
		switch {
		case err == nil:
			return len(paths), nil
		case !isRefused(err):
			return 0, err
		}
	}
	for _, path := range paths {
		switch err := s.remove(ctx, []byte(path)); {
		case err == nil:
			n++
		case !isRefused(err):
			return n, err
		}
	}
	return n, nil
}

// isRefused reports whether a znode was not removed because it is gone or has children.
// A proxy reports no reason for a failed transaction.
func isRefused(err error) bool {
	return errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrAPIError)
}
