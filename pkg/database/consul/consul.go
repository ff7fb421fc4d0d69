// Package consul drives the Consul key-value store: servers from a consul executable, clients over
// its HTTP interface.
package consul

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
)

// Name identifies the database in experiment files and in the registry. The only tool it needs has
// the same name.
const Name = "consul"

// maxValue is the largest value in bytes that a server with default options accepts.
const maxValue = 512 << 10

// fsyncEach states when a write is on disk: Consul syncs every batch it appends to its raft log,
// and no option changes that.
const fsyncEach = "fdatasync of the log by a quorum before a write is answered"

// Options are the settings for the Consul server, named as in its configuration, and for its
// client.
type Options struct {
	RaftMultiplier        int                `yaml:"raft_multiplier" doc:"factor of raft's time-outs, from 1 to 10: upstream recommends 1 for production, its default is 5" classic:"raft_multiplier"`
	HTTPMaxConnsPerClient int                `yaml:"http_max_conns_per_client" doc:"HTTP connections that a member accepts from one address; it answers more with 429 (upstream's default: 200)"`
	RPCMaxConnsPerClient  int                `yaml:"rpc_max_conns_per_client" doc:"RPC connections that a member accepts from one address (upstream's default: 100)"`
	KVMaxValueSize        int                `yaml:"kv_max_value_size" unit:"bytes" doc:"largest value in bytes; 0 is Consul's own default of 524288"`
	LogLevel              string             `yaml:"log_level" doc:"lowest level that is logged: trace, debug, info, warn, error"`
	Transport             database.Transport `yaml:"transport" doc:"client implementation: lean is dbtester's own HTTP client, for half the client CPU or less; standard is Consul's own client on net/http"`
	EnableDebug           bool               `yaml:"enable_debug" doc:"serve Go profiles at the client port, which the experiment's profile option needs"`
	Flags                 []string           `yaml:"flags,omitempty" doc:"more flags for the server, each as -name or -name=value; -hcl=TEXT sets any part of the configuration"`
}

// New returns options with every default.
func New() *Options {
	return &Options{
		RaftMultiplier:        1,
		HTTPMaxConnsPerClient: 8000,
		RPCMaxConnsPerClient:  8000,
		LogLevel:              "info",
		Transport:             database.Lean,
	}
}

// SetClassic sets the Consul default for raft_multiplier, which the classic tool used.
func (o *Options) SetClassic() string {
	o.RaftMultiplier = 5
	return "raft_multiplier is 5, Consul's own default, as in the classic set-up (1 elsewhere)"
}

var (
	_ database.Classic    = (*Options)(nil)
	_ database.Driver     = (*Options)(nil)
	_ database.Validator  = (*Options)(nil)
	_ database.Installer  = (*Options)(nil)
	_ database.Leader     = (*Options)(nil)
	_ database.Versioner  = (*Options)(nil)
	_ database.Counter    = (*Options)(nil)
	_ database.KeyFinder  = (*Options)(nil)
	_ database.Cleaner    = (*Options)(nil)
	_ database.Limiter    = (*Options)(nil)
	_ database.ExtraFlags = (*Options)(nil)
)

// MaxValue returns the largest value in bytes that the options allow.
func (o *Options) MaxValue(int) int {
	if o.KVMaxValueSize > 0 {
		return o.KVMaxValueSize
	}
	return maxValue
}

// ExtraFlags returns the raw flags in the options.
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
	problem(o.RaftMultiplier < 1 || o.RaftMultiplier > 10, "raft_multiplier must be from 1 to 10, got %d", o.RaftMultiplier)
	problem(o.HTTPMaxConnsPerClient < 0, "http_max_conns_per_client must be at least 0, got %d", o.HTTPMaxConnsPerClient)
	problem(o.RPCMaxConnsPerClient < 0, "rpc_max_conns_per_client must be at least 0, got %d", o.RPCMaxConnsPerClient)
	problem(o.KVMaxValueSize < 0, "kv_max_value_size must be at least 0, got %d", o.KVMaxValueSize)
	problem(!slices.Contains([]string{"trace", "debug", "info", "warn", "error"}, o.LogLevel),
		"log_level must be trace, debug, info, warn or error, got %q", o.LogLevel)
	errs = append(errs, o.Transport.Validate())
	for _, f := range o.Flags {
		errs = append(errs, validFlag(f))
	}
	return errors.Join(errs...)
}

// validFlag refuses flags of the plan, and the mode without a disk.
func validFlag(f string) error {
	if err := database.ValidFlag(f, "-", plannedFlags); err != nil {
		return err
	}
	switch database.FlagName(f) {
	case "hcl":
		return validHCL(f)
	case "dev":
		return fmt.Errorf("flag %q is not allowed: it keeps all data in memory", f)
	}
	return nil
}

// plannedFlags are the flags that Plan writes, or that would override its
// configuration file. Options.Flags must not have them.
var plannedFlags = []string{
	"server", "node", "bootstrap", "bootstrap-expect", "bind", "client", "advertise", "data-dir", "config-file", "config-dir",
	"retry-join", "retry-interval", "join", "log-level",
	"http-port", "https-port", "server-port", "serf-lan-port", "serf-wan-port", "dns-port", "grpc-port", "grpc-tls-port",
	"serf-lan-bind", "serf-wan-bind", "ui",
	"config-format", "log-file", "pid-file", "join-wan", "retry-join-wan", "advertise-wan",
}

// plannedKeys are the keys in the Consul configuration that Plan sets and -hcl would replace.
var plannedKeys = []string{
	"data_dir", "server", "server_mode", "node_name", "bootstrap", "bootstrap_expect", "bind_addr", "client_addr", "addresses",
	"advertise_addr", "advertise_addr_wan", "ports", "serf_lan", "serf_wan", "retry_join", "retry_join_wan", "start_join",
	"start_join_wan", "log_level", "log_file", "pid_file", "telemetry",
}

var hclWord = regexp.MustCompile(`[A-Za-z0-9_]+`)

// validHCL refuses text for -hcl that has a planned key, or an escape that could spell one.
func validHCL(flag string) error {
	_, text, _ := strings.Cut(flag, "=")
	if strings.Contains(text, "\\") {
		return fmt.Errorf("flag %q must have no backslash", flag)
	}
	for _, word := range hclWord.FindAllString(text, -1) {
		if slices.Contains(plannedKeys, strings.ToLower(word)) {
			return fmt.Errorf("flag %q has the key %s, which is set by the plan or by an option of its own", flag, word)
		}
	}
	return nil
}

func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}

// memberName counts members from 1, as log names in results do.
func memberName(index int) string { return fmt.Sprintf("consul-%d", index+1) }

// probeKey is a key below the target prefix that is never written. Reading it shows whether a
// member serves requests.
const probeKey = "dbtester/probe"
