// Package consul drives Consul's key-value store: servers from a consul
// executable, clients over its HTTP interface.
package consul

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/database"
)

// Name is the database's name in experiment files and in the registry, and the
// name of the one tool it needs.
const Name = "consul"

// maxValue is the largest value in bytes that a server with default options
// takes, whatever the key.
const maxValue = 512 << 10

// fsyncEach says when a write is on disk: the store of Consul's raft log syncs
// every batch it appends, and there is no option to leave that out.
const fsyncEach = "fdatasync of the log by a quorum before a write is answered"

// Database returns Consul as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			// Consul's own default is the leader's answer from its lease.
			Reads: []database.ReadMode{database.ReadLeader, database.ReadStale, database.ReadLinearizable},
			Operations: []database.Op{
				database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot,
				database.OpDelete, database.OpSwap,
			},
			Ports:    map[string]int{"client": 8500, "server": 8300, "serf_lan": 8301},
			Tools:    []string{Name},
			TLS:      true,
			Auth:     true,
			MaxValue: maxValue,
			Fsync:    fsyncEach,
		},
		New: func() database.Driver { return New() },
	}
}

// Options are Consul's settings, by the names of its configuration, and the
// client's transport.
type Options struct {
	RaftMultiplier        int       `yaml:"raft_multiplier" doc:"factor on raft's time-outs, 1 to 10: 1 is upstream's advice for production, 5 its default"`
	HTTPMaxConnsPerClient int       `yaml:"http_max_conns_per_client" doc:"HTTP connections that a member takes from one address; more are answered 429 (upstream's default: 200)"`
	RPCMaxConnsPerClient  int       `yaml:"rpc_max_conns_per_client" doc:"RPC connections that a member takes from one address (upstream's default: 100)"`
	KVMaxValueSize        int       `yaml:"kv_max_value_size" doc:"largest value in bytes; 0 is Consul's own default of 524288"`
	LogLevel              string    `yaml:"log_level" doc:"least level that is logged: trace, debug, info, warn, error"`
	Transport             Transport `yaml:"transport" doc:"what carries the client's requests: lean is one connection with requests and answers of the driver's own making, at half the client CPU or less; standard is Consul's own client on net/http"`
	EnableDebug           bool      `yaml:"enable_debug" doc:"serve Go profiles at the client port: the experiment's profile needs it"`
	Flags                 []string  `yaml:"flags,omitempty" doc:"more flags for the server, each as -name or -name=value; -hcl=TEXT sets any part of the configuration"`
}

// New returns options that hold every default.
func New() *Options {
	return &Options{
		RaftMultiplier:        1,
		HTTPMaxConnsPerClient: 8000,
		RPCMaxConnsPerClient:  8000,
		LogLevel:              "info",
		Transport:             Lean,
	}
}

var (
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
)

// MaxValue returns the limit that the options set, whatever the key.
func (o *Options) MaxValue(int) int {
	if o.KVMaxValueSize > 0 {
		return o.KVMaxValueSize
	}
	return maxValue
}

// ExtraFlags returns the raw flags of the options.
func (o *Options) ExtraFlags() []string { return o.Flags }

// Validate reports every option that Consul would refuse or that would make a
// result meaningless.
func (o *Options) Validate(database.HostFacts) error {
	var errs []error
	problem := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	problem(o.RaftMultiplier < 1 || o.RaftMultiplier > 10, "raft_multiplier %d is not from 1 to 10", o.RaftMultiplier)
	problem(o.HTTPMaxConnsPerClient < 0, "http_max_conns_per_client %d is negative", o.HTTPMaxConnsPerClient)
	problem(o.RPCMaxConnsPerClient < 0, "rpc_max_conns_per_client %d is negative", o.RPCMaxConnsPerClient)
	problem(o.KVMaxValueSize < 0, "kv_max_value_size %d is negative", o.KVMaxValueSize)
	problem(!slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, o.LogLevel),
		"log_level %q is not trace, debug, info, warn or error", o.LogLevel)
	errs = append(errs, o.Transport.Validate())
	for _, f := range o.Flags {
		errs = append(errs, validFlag(f))
	}
	return errors.Join(errs...)
}

// validFlag refuses what any driver refuses, and what would measure memory.
func validFlag(f string) error {
	if err := database.ValidFlag(f, "-", plannedFlags); err != nil {
		return err
	}
	if database.FlagName(f) == "dev" {
		return fmt.Errorf("flag %q would keep everything in memory", f)
	}
	return nil
}
