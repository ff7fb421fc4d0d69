package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
)

var (
	_ database.ManyVersions = (*client)(nil)
	_ database.ManyVersions = (*lean)(nil)
)

// indexed is a key and its index.
type indexed struct {
	Key         string
	ModifyIndex int64
}

// pages divides ascending keys into pages whose numbers differ only in their last digits, so
// one listing reads exactly one page. prefix is nil for keys read one by one.
func pages(keys [][]byte, perKey int, read func(from, to int, prefix []byte) error) error {
	most := 0
	for each := perKey*4/3 + pageFields; 10*each <= pageBytes && most < pageDigits; each *= 10 {
		most++
	}
	for from := 0; from < len(keys); {
		digits := 0
		for first := keys[from]; digits < min(most, len(first)) && first[len(first)-1-digits]-'0' <= 9; {
			digits++
		}
		prefix := keys[from][:len(keys[from])-digits]
		to := from + 1
		for to < len(keys) && len(keys[to]) == len(keys[from]) && bytes.HasPrefix(keys[to], prefix) {
			to++
		}
		if to == from+1 || len(prefix) == 0 || !ownNames(keys[from:to]) {
			prefix = nil
		}
		if err := read(from, to, prefix); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// ownNames reports whether all keys are stored under names without escapes.
func ownNames(keys [][]byte) bool {
	for _, key := range keys {
		if name, err := encodeKey(key); err != nil || name != string(key) {
			return false
		}
	}
	return true
}

// settleVersions sets the versions of keys from a listing, both ascending. It requests the index of
// a missing key separately: a listing omits keys the token may not read.
func settleVersions(ctx context.Context, keys [][]byte, versions []int64, listed []indexed, one database.Transactor) (err error) {
	at := 0
	for i, key := range keys {
		for at < len(listed) && listed[at].Key < string(key) {
			at++
		}
		if at < len(listed) && listed[at].Key == string(key) {
			versions[i] = listed[at].ModifyIndex
			continue
		}
		if versions[i], err = one.Version(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Versions reads the indexes of keys from listings by prefix.
func (c *client) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return pages(keys, c.perKey, func(from, to int, prefix []byte) error {
		var listed []indexed
		if prefix != nil {
			name, err := c.begin(ctx, prefix)
			if err != nil {
				return err
			}
			pairs, _, err := c.kv.List(name, (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
			if err != nil {
				return classify(ctx, err)
			}
			for _, p := range pairs {
				listed = append(listed, indexed{p.Key, int64(p.ModifyIndex)})
			}
		}
		return settleVersions(ctx, keys[from:to], versions[from:to], listed, c)
	})
}

// Versions reads versions like [client.Versions].
func (c *lean) Versions(ctx context.Context, keys [][]byte, versions []int64) error {
	return pages(keys, c.perKey, func(from, to int, prefix []byte) error {
		var listed []indexed
		if prefix != nil {
			var err error
			if listed, err = c.listed(ctx, prefix); err != nil {
				return err
			}
		}
		return settleVersions(ctx, keys[from:to], versions[from:to], listed, c)
	})
}

// listed reads the keys with one prefix.
func (c *lean) listed(ctx context.Context, prefix []byte) (listed []indexed, err error) {
	usual := c.conn.maxBody
	c.conn.maxBody = usual + 2*pageBytes
	text, err := c.read(ctx, nil, prefix, "recurse&consistent")
	c.conn.maxBody = usual
	switch {
	case errors.Is(err, database.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return listed, classify(ctx, json.Unmarshal(text, &listed))
}
