// Package cetcd drives cetcd: Consul's key-value interface in front of etcd. A
// member is an etcd member and a proxy beside it, the one built into this binary
// or a cetcd executable.
package cetcd

import (
	"context"
	"encoding/binary"
	"errors"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/install"
)

// Name is the database's name in experiment files and in the registry, and the
// tool that replaces the built-in proxy.
const Name = "cetcd"

// maxValue is the largest value in bytes that the proxy takes: Consul's.
const maxValue = 512 << 10

// Database returns cetcd as a registry lists it. Without tools a plan runs the
// etcd and the proxy in this binary. The tool "etcd" replaces the one, "cetcd" the
// other; by its documentation, the cetcd executable deletes another key than the
// one it put and has no transactions, so it is for writes and reads only.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			// etcd has no read from a leader's lease: Consul's default mode is linearizable
			// here, and so is its consistent mode.
			Reads: []database.ReadMode{database.ReadLinearizable, database.ReadStale},
			Operations: []database.Op{
				database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot,
				database.OpDelete, database.OpSwap,
			},
			Ports:    map[string]int{"client": 8500, roleEtcdClient: 2379, roleEtcdPeer: 2380},
			Tools:    []string{Name, etcd.Name},
			Embedded: version.Version,
			TLS:      true,
			MaxValue: maxValue,
			Fsync:    etcd.Database().Info.Fsync,
		},
		New: func() database.Driver { return New() },
	}
}

// Options are etcd's settings and the client's.
type Options struct {
	etcd.Options `yaml:",inline"`
	Transport    consul.Transport `yaml:"transport" doc:"what carries the client's requests: lean or standard, as for consul"`
}

// New returns options that hold every default.
func New() *Options { return &Options{Options: *etcd.New(), Transport: consul.Lean} }

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
	_ database.Embedded   = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.Fsyncer    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
)

// Validate reports every option that etcd or the client would refuse.
func (o *Options) Validate(h database.HostFacts) error {
	return errors.Join(o.Options.Validate(h), o.Transport.Validate())
}

// Recipes returns how to obtain the etcd of that version, which the proxy then
// stands before. No registry holds the cetcd executable.
func (o *Options) Recipes(version string) ([]install.Recipe, error) {
	return o.Options.Recipes(version)
}

// MaxValue returns the proxy's limit, and that of etcd, where a value takes some
// more, if an option made it smaller.
func (o *Options) MaxValue(keySize int) int {
	return min(maxValue, max(0, o.Options.MaxValue(keySize)-binary.MaxVarintLen64))
}

// api is the driver of the interface that the proxy serves.
func (o *Options) api() *consul.Options { return &consul.Options{Transport: o.Transport} }

// Ready makes one linearizable read through the member's proxy.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return o.api().Ready(ctx, t, member)
}

// Dial opens one connection to one member's proxy, as to a member of Consul.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	return o.api().Dial(ctx, t)
}

// Leader returns the member whose etcd leads. A cetcd executable does not say.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	return o.api().Leader(ctx, t)
}

// Version returns the version of the etcd that a member runs. A cetcd executable
// does not say.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	return o.api().Version(ctx, t, member)
}

// CountKeys counts every key with one consistent listing.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	return o.api().CountKeys(ctx, t)
}
