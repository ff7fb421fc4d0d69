package consul

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// client applies operations over one connection in the Consul library, one at a time.
type client struct {
	kv       *api.KV
	sessions *api.Session
	http     *http.Client
	base     string // scheme://host:port
	token    string // may be ""
	perKey   int    // bounds a key and its value, in bytes
	closed   atomic.Bool
}

var (
	_ database.Client  = (*client)(nil)
	_ database.Deleter = (*client)(nil)
	_ database.Swapper = (*client)(nil)
)

var errClosed = errors.New("the client is closed")

// begin returns the stored name of a key, or an error if nothing may be sent.
func (c *client) begin(ctx context.Context, key []byte) (string, error) {
	if err := c.ready(ctx); err != nil {
		return "", err
	}
	name, err := encodeKey(key)
	if err != nil {
		return "", database.NotApplied(database.ClassOther, err)
	}
	return name, nil
}

// Put creates or overwrites key.
func (c *client) Put(ctx context.Context, key, value []byte) error {
	name, err := c.begin(ctx, key)
	if err != nil {
		return err
	}
	_, err = c.kv.Put(&api.KVPair{Key: name, Value: value}, (&api.WriteOptions{}).WithContext(ctx))
	return classify(ctx, err)
}

// Get returns the value of key.
func (c *client) Get(ctx context.Context, key []byte, mode workload.ReadMode) ([]byte, error) {
	name, err := c.begin(ctx, key)
	if err != nil {
		return nil, err
	}
	pair, err := c.read(ctx, name, mode)
	if err != nil {
		return nil, err
	}
	return pair.Value, nil
}

// Delete removes key.
func (c *client) Delete(ctx context.Context, key []byte) error {
	name, err := c.begin(ctx, key)
	if err != nil {
		return err
	}
	_, err = c.kv.Delete(name, (&api.WriteOptions{}).WithContext(ctx))
	return classify(ctx, err)
}

// Swap reads key and, if it holds old, writes value on the condition that the key was
// not written in between. It needs two requests, because Consul compares indexes, not
// values. A missing key is a conflict.
func (c *client) Swap(ctx context.Context, key, old, value []byte) error {
	name, err := c.begin(ctx, key)
	if err != nil {
		return err
	}
	pair, err := c.read(ctx, name, workload.ReadLinearizable)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return conflict("the key does not exist")
	case err != nil:
		// Only a read was sent.
		_, class := database.Classify(err)
		return database.NotApplied(class, err)
	case !bytes.Equal(pair.Value, old):
		return conflict("the key holds another value")
	}
	if err := before(ctx); err != nil {
		return err
	}
	changed := &api.KVPair{Key: name, Value: value, Flags: pair.Flags, ModifyIndex: pair.ModifyIndex}
	swapped, _, err := c.kv.CAS(changed, (&api.WriteOptions{}).WithContext(ctx))
	switch {
	case err != nil:
		return classify(ctx, err)
	case !swapped:
		return conflict("the key was written meanwhile")
	}
	return nil
}

// Close closes the connection.
func (c *client) Close() error {
	c.closed.Store(true)
	c.http.CloseIdleConnections()
	return nil
}

func (c *client) read(ctx context.Context, name string, mode workload.ReadMode) (*api.KVPair, error) {
	options := &api.QueryOptions{
		AllowStale:        mode == workload.ReadStale,
		RequireConsistent: mode == workload.ReadLinearizable,
	}
	pair, _, err := c.kv.Get(name, options.WithContext(ctx))
	switch {
	case err != nil:
		return nil, classify(ctx, err)
	case pair == nil:
		return nil, database.ErrNotFound
	}
	return pair, nil
}

// ready returns an error if nothing may be sent.
func (c *client) ready(ctx context.Context) error {
	if c.closed.Load() {
		return database.NotApplied(database.ClassConnection, errClosed)
	}
	return before(ctx)
}
