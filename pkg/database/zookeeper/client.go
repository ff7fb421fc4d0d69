package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// client applies operations over one session, one at a time.
type client struct {
	requests
	keys   Keyspace
	limit  int // largest request in bytes
	access int // bytes for the ACL in a create request
	// updates means that the last Put found its key.
	updates bool
	path    []byte // of the last key
	value   []byte // from the last Put by a fiber
}

var (
	_ database.AppendGetter = (*client)(nil)
	_ database.Client       = (*client)(nil)
	_ database.HintedPutter = (*client)(nil)
	_ database.Deleter      = (*client)(nil)
	_ database.Swapper      = (*client)(nil)

	_ database.WriteVersioner = (*client)(nil)
	_ database.Continuer      = (*client)(nil)
)

// Put creates key or sets its value. It first tries the request that the last Put by this client
// needed.
//
// ZooKeeper has one request for a new znode and another for an existing one, and
// logs a transaction even for a request that fails. A Put that tries the wrong one
// first costs two transactions; [client.PutNew] and [client.PutExisting] avoid that.
func (c *client) Put(ctx context.Context, key, value []byte) error {
	update, err := c.put(ctx, key, value, c.updates)
	c.updates = update
	return err
}

// PutNew puts like Put, but tries to create key first.
func (c *client) PutNew(ctx context.Context, key, value []byte) error {
	_, err := c.put(ctx, key, value, false)
	return err
}

// PutExisting puts like Put, but tries to set the value of key first.
func (c *client) PutExisting(ctx context.Context, key, value []byte) error {
	_, err := c.put(ctx, key, value, true)
	return err
}

// put creates key or sets its value, and reports whether the last request was an update.
func (c *client) put(ctx context.Context, key, value []byte, update bool) (updated bool, err error) {
	path := c.pathOf(key)
	if err := c.checkSize(path, value); err != nil {
		return update, err
	}
	if f, _ := fiber.Of(ctx); f != nil && len(value) <= fiber.MostBorrowed {
		c.value = append(c.value[:0], value...) // the second request is made after a wait
		value = c.value
	}
	// Two requests suffice unless others create and delete the same key meanwhile.
	for range 3 {
		if update {
			err = c.set(ctx, path, value, anyVersion)
		} else {
			err = c.add(ctx, path, value)
		}
		if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
			return update, err
		}
		update = !update
	}
	return update, database.NotApplied(database.ClassConflict, err)
}

// checkSize refuses a value that would make the server close the connection.
func (c *client) checkSize(path, value []byte) error {
	if size := putSize(c.access, len(path), len(value)); size > c.limit {
		return database.NotApplied(database.ClassTooLarge, fmt.Errorf("a request may have at most %d bytes, got %d", c.limit, size))
	}
	return nil
}

// Get returns the value of key. With [workload.ReadSyncGet] it first waits until the server has
// applied earlier writes. This works with a follower. A ZooKeeper leader answers a sync at once, so
// a read from it can miss a write it has committed but not applied.
func (c *client) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	return c.AppendGet(ctx, nil, key, mode)
}

// AppendGet appends the value that Get would return to a buffer.
func (c *client) AppendGet(ctx context.Context, to, key []byte, mode workload.ReadMode) ([]byte, error) {
	value, _, err := c.read(ctx, to, c.pathOf(key), mode)
	if err != nil {
		return to, err
	}
	return value, nil
}

// Delete removes key.
func (c *client) Delete(ctx context.Context, key []byte) error {
	err := c.remove(ctx, c.pathOf(key))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Swap reads key with its version, after a sync, and sets it if it holds old and
// still has that version. A missing key is a conflict. So is a stale read (see Get):
// nothing is set then, although the key may have held old.
func (c *client) Swap(ctx context.Context, key, old, value []byte) error {
	path := c.pathOf(key)
	if err := c.checkSize(path, value); err != nil {
		return err
	}
	held, version, err := c.read(ctx, nil, path, workload.ReadSyncGet)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return database.NotApplied(database.ClassConflict, errors.New("the key does not exist"))
	case err != nil:
		_, class := database.Classify(err)
		return database.NotApplied(class, err)
	case !bytes.Equal(held, old):
		return database.NotApplied(database.ClassConflict, errors.New("the key holds another value"))
	}
	err = c.set(ctx, path, value, version)
	if errors.Is(err, zk.ErrNoNode) {
		return database.NotApplied(database.ClassConflict, err)
	}
	return err
}

// WriteVersion returns the transaction of the last write, which only the lean transport learns.
func (c *client) WriteVersion() int64 {
	if l, ok := c.requests.(*lean); ok {
		return l.zxid
	}
	return -1
}

// Continues reports whether calls wait as fibers, as they do with the lean transport and without
// TLS.
func (c *client) Continues() bool {
	l, ok := c.requests.(*lean)
	return ok && exchange.Continues(l.tls)
}

// Close ends the session.
func (c *client) Close() error {
	c.close()
	return nil
}

// pathOf returns the path of key, valid until the next call.
func (c *client) pathOf(key []byte) []byte {
	c.path = c.keys.appendPath(c.path[:0], key)
	return c.path
}

// read appends a znode's value to a buffer, and returns its version.
func (c *client) read(ctx context.Context, to, path []byte, mode workload.ReadMode) (value []byte, version int32, err error) {
	if mode == workload.ReadSyncGet {
		if err := c.sync(ctx, path); err != nil {
			return nil, 0, err
		}
	}
	value, version, err = c.get(ctx, to, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, 0, database.ErrNotFound
	}
	return value, version, err
}
