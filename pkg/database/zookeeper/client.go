package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
)

// client applies operations over one session, one at a time.
type client struct {
	requests
	keys   Keyspace
	limit  int // largest request in bytes
	access int // bytes of a create request that say who may do what
	// updates says that the last put found its key.
	updates bool
	path    []byte // of the last key
}

var (
	_ database.Client  = (*client)(nil)
	_ database.Deleter = (*client)(nil)
	_ database.Swapper = (*client)(nil)
)

// Put creates key or sets its value. ZooKeeper has a request for either and none
// for both, and logs a transaction even for one that fails. So the one is tried
// first that the last put of this connection turned out to need: a load that
// writes new keys costs one create each, a load that overwrites one set each.
// When the other is needed too, the put takes both.
func (c *client) Put(ctx context.Context, key, value []byte) error {
	path := c.at(key)
	if size := putSize(c.access, len(path), len(value)); size > c.limit {
		return database.NotApplied(database.ClassTooLarge, fmt.Errorf("the request has %d bytes, the most is %d", size, c.limit))
	}
	// Twice is enough unless others create and delete the same key meanwhile.
	var err error
	for range 3 {
		if c.updates {
			err = c.set(ctx, path, value, anyVersion)
		} else {
			err = c.add(ctx, path, value)
		}
		if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		c.updates = !c.updates
	}
	return database.NotApplied(database.ClassConflict, err)
}

// Get returns the value of key. With [database.ReadSyncGet] it first waits until
// the server has what was written before. That holds for a follower; ZooKeeper's
// leader answers a sync at once, and a read that follows can miss what the leader
// has committed and not yet applied itself.
func (c *client) Get(ctx context.Context, key []byte, mode database.ReadMode) ([]byte, error) {
	value, _, err := c.read(ctx, c.at(key), mode)
	return value, err
}

// Delete removes key.
func (c *client) Delete(ctx context.Context, key []byte) error {
	err := c.remove(ctx, c.at(key))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Swap reads key with its version, after a sync, and sets it if it holds old and
// has that version still. A missing key is a conflict too, and so is a read that
// was behind (see Get): then nothing is set though the key may have held old.
func (c *client) Swap(ctx context.Context, key, old, value []byte) error {
	path := c.at(key)
	if size := putSize(c.access, len(path), len(value)); size > c.limit {
		return database.NotApplied(database.ClassTooLarge, fmt.Errorf("the request has %d bytes, the most is %d", size, c.limit))
	}
	held, version, err := c.read(ctx, path, database.ReadSyncGet)
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

// Close ends the session.
func (c *client) Close() error {
	c.close()
	return nil
}

// at returns where a key is, until the next one.
func (c *client) at(key []byte) []byte {
	c.path = c.keys.appendPath(c.path[:0], key)
	return c.path
}

func (c *client) read(ctx context.Context, path []byte, mode database.ReadMode) (value []byte, version int32, err error) {
	if mode == database.ReadSyncGet {
		if err := c.sync(ctx, path); err != nil {
			return nil, 0, err
		}
	}
	value, version, err = c.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, 0, database.ErrNotFound
	}
	return value, version, err
}
