package zookeeper

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.ManyVersions = (*client)(nil)

const (
	// absent is the version for a missing znode.
	absent = -1
	// inFlight is the number of requests that are sent before the first answer is read. It is so
	// small that a server never waits for a client that is still sending.
	inFlight = 128
)

// Versions reads the versions of keys, many at a time. Answers with znode metadata do not contain
// the value.
func (c *client) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	var found [inFlight]int32
	var paths [][]byte
	for from := 0; from < len(keys); from += inFlight {
		part := keys[from:min(from+inFlight, len(keys))]
		paths = paths[:0]
		for _, key := range part {
			paths = append(paths, c.keys.appendPath(nil, key))
		}
		if err := c.stats(ctx, paths, found[:len(part)]); err != nil {
			return err
		}
		for i, v := range found[:len(part)] {
			versions[from+i] = database.NoVersion
			if v != absent {
				versions[from+i] = int64(v) + versionOffset
			}
		}
	}
	return nil
}

func (l *lean) stats(ctx context.Context, paths [][]byte, versions []int32) error {
	const watch = 0
	xids := make([]int32, len(paths))
	all := slices.Clone(sealed(appendBytes(l.begin(opSync, len(paths[0])), paths[0])))
	synced := l.xid
	for i, path := range paths {
		all = append(all, sealed(append(appendBytes(l.begin(opExists, len(path)), path), watch))...)
		xids[i] = l.xid
	}
	if err := l.ensureSession(ctx); err != nil {
		return classify(err, false)
	}
	if err := l.conn.Send(all); err != nil {
		return l.fail(ctx, err)
	}
	if _, err := l.stat(synced); err != nil {
		return l.fail(ctx, err)
	}
	for i, xid := range xids {
		var err error
		if versions[i], err = l.stat(xid); err != nil {
			return l.fail(ctx, err)
		}
	}
	l.conn.End(true)
	return nil
}

// stat reads the answer to the request with that number: the version in it, or absent.
func (l *lean) stat(xid int32) (version int32, err error) {
	a, err := l.readHeader(xid)
	if err != nil {
		return 0, err
	}
	if err := errorOf(a.code); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, err
	}
	if version = absent; a.code == 0 && a.size >= statSize {
		b, err := l.conn.In.Next(statSize)
		if err != nil {
			return 0, err
		}
		version = versionOf(b)
		a.size -= statSize
	}
	return version, l.conn.In.Skip(a.size)
}

func (s *session) stats(ctx context.Context, paths [][]byte, versions []int32) error {
	// A timed-out call writes to its own answer, which is never read.
	found, errs := make([]int32, len(paths)), make([]error, len(paths))
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = string(path)
	}
	err := s.do(ctx, func(c *zk.Conn) error {
		if _, err := c.Sync(names[0]); ignoreNoNode(err) != nil {
			return err
		}
		var calls sync.WaitGroup
		for i, name := range names {
			calls.Go(func() {
				exists, stat, err := c.Exists(name)
				if found[i], errs[i] = absent, err; exists && err == nil {
					found[i] = stat.Version
				}
			})
		}
		calls.Wait()
		return errors.Join(errs...)
	})
	if err != nil {
		return err
	}
	copy(versions, found)
	return nil
}
