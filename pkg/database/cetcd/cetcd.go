// Package cetcd drives cetcd: the key-value interface of Consul in front of etcd. A member is an
// etcd member and a proxy to it, either the one built into this binary or a cetcd executable.
package cetcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

// Name identifies the database in experiment files and in the registry. The tool that replaces
// the built-in proxy has the same name.
const Name = "cetcd"

// maxValue is the largest value in bytes that the proxy accepts, as Consul does.
const maxValue = 512 << 10

// Options are the settings for the etcd server and the client.
type Options struct {
	etcd.Server `yaml:",inline"`
	Transport   database.Transport `yaml:"transport" doc:"client implementation: lean or standard, as for consul"`
}

// New returns options with every default.
func New() *Options { return &Options{Server: *etcd.NewServer(), Transport: database.Lean} }

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
	_ database.Embedded   = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.KeyFinder  = (*Options)(nil)
	_ database.Cleaner    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.TxnLimiter = (*Options)(nil)
	_ database.Fsyncer    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
	_ database.Mirror     = (*Options)(nil)

	_ database.WatchDialer = (*Options)(nil)
)

// ServeMirror implements [database.Mirror] with the mirror for Consul.
func (o *Options) ServeMirror(ctx context.Context, l net.Listener, hold func()) error {
	return o.api().ServeMirror(ctx, l, hold)
}

// Validate reports every option etcd or the client would refuse.
func (o *Options) Validate(h database.HostFacts) error {
	return errors.Join(o.Server.Validate(h), o.Transport.Validate())
}

// Recipes returns the recipes for the etcd behind the proxy. No registry has the cetcd
// executable.
func (o *Options) Recipes(version string) ([]recipe.Recipe, error) {
	return o.Server.Recipes(version)
}

// MaxValue returns the proxy limit in bytes, or the etcd limit if an option makes that smaller.
// etcd stores a few bytes more than the value.
func (o *Options) MaxValue(keySize int) int {
	return min(maxValue, max(0, o.Server.MaxValue(keySize)-binary.MaxVarintLen64))
}

// MaxTxnValue returns the largest value for each key in a transaction of that many keys.
func (o *Options) MaxTxnValue(keySize, keys int) int {
	if keys > maxTxnOps {
		return 0
	}
	return min(o.api().MaxTxnValue(keySize, keys), max(0, o.Server.MaxTxnValue(keySize, keys)-binary.MaxVarintLen64))
}

// api returns the driver for the interface that the proxies serve.
func (o *Options) api() *consul.Options { return &consul.Options{Transport: o.Transport} }

// Ready makes one linearizable read through a member's proxy.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return o.api().Ready(ctx, t, member)
}

// keysOnly is a Consul client without sessions, which the proxy refuses.
type keysOnly struct{ database.WholeKeys }

// Dial opens one connection to one member's proxy, as to a Consul member.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	c, err := o.api().Dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return keysOnly{c.(database.WholeKeys)}, nil
}

// DialWatches opens a connection for one watcher to one member's proxy, as to a Consul member. The
// proxy must be the one in this binary, which describes itself: whether queries to a cetcd
// executable wait for changes is not known.
func (o *Options) DialWatches(ctx context.Context, t database.Target, kind database.WatchKind, to database.Receiver) (database.Watches, error) {
	if _, err := o.Version(ctx, t, max(t.Prefer, 0)); err != nil {
		return nil, fmt.Errorf("dial for watches: the proxy must describe itself, as dbtester's does: %w", err)
	}
	return o.api().DialWatches(ctx, t, kind, to)
}

// Leader returns the member whose etcd leads. A cetcd executable does not report it.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	return o.api().Leader(ctx, t)
}

// Version returns the etcd version of a member. A cetcd executable does not report it.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	return o.api().Version(ctx, t, member)
}

// CountKeys counts all keys in one consistent listing.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	return o.api().CountKeys(ctx, t)
}

// HighestKey finds the highest key number in one consistent listing.
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	return o.api().HighestKey(ctx, t, keySize)
}

// Clean removes the keys below the prefix, one request per key: the proxy accepts no deletes in
// transactions.
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	return o.api().CleanOneByOne(ctx, t, which, removed)
}

// The limits that Consul sets for a transaction: operations, and bytes of its JSON.
const (
	maxTxnOps  = 64
	maxTxnBody = 512 << 10
)
