package consul

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/coreos/dbtester/pkg/database"
)

// Where a member keeps its things, below its directory.
const (
	dataDir    = "data"
	configFile = "consul.json"
)

// plannedFlags are the flags that Plan writes, or that would undo what its
// configuration file says; Options.Flags may not repeat them.
var plannedFlags = []string{
	"server", "node", "bootstrap", "bootstrap-expect", "bind", "client", "advertise", "data-dir", "config-file", "config-dir",
	"retry-join", "retry-interval", "join", "log-level",
	"http-port", "https-port", "server-port", "serf-lan-port", "serf-wan-port", "dns-port", "grpc-port", "grpc-tls-port",
	"serf-lan-bind", "serf-wan-bind", "ui",
}

// Plan returns one command, named "consul", that runs the tool "consul", which
// must be of oldestRelease or newer. Consul listens on addresses, so hosts can't be named.
//
// Of a member's ports, only the three of its roles are open: the wide-area gossip,
// DNS and gRPC, which the key-value store does not need, are off.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan consul: member %d of %d", m.Index, len(m.Hosts))
	}
	if m.Tools[Name] == "" {
		return database.Plan{}, errors.New("plan consul: no consul executable: it is not built in")
	}
	self := m.Self()
	if net.ParseIP(self.Addr) == nil {
		return database.Plan{}, fmt.Errorf("plan consul: host %q is not an IP address", self.Addr)
	}
	config, err := json.MarshalIndent(o.config(m), "", "  ")
	if err != nil {
		return database.Plan{}, fmt.Errorf("plan consul: %w", err)
	}
	return database.Plan{
		Files:    []database.File{{Path: configFile, Content: string(config) + "\n"}},
		Commands: []database.Command{{Name: Name, Path: m.Tools[Name], Args: o.args(m)}},
		DataDirs: []string{dataDir},
		Listen: []string{
			address(self, "client"), address(self, "server"), address(self, "serf_lan"), address(self, "serf_lan") + database.UDP,
		},
		LogRules: logRules(),
	}, nil
}

// args are the agent's arguments: who it is and whom it joins.
func (o *Options) args(m database.Member) []string {
	self := m.Self()
	args := []string{
		"agent", "-server",
		"-bootstrap-expect=" + strconv.Itoa(len(m.Hosts)),
		"-node=" + memberName(m.Index),
		"-bind=" + self.Addr,
		"-client=" + self.Addr,
		"-data-dir=" + filepath.Join(m.Dir, dataDir),
		"-config-file=" + filepath.Join(m.Dir, configFile),
	}
	for i, h := range m.Hosts {
		// Not itself: one address that answers ends the joining, and two members that
		// start at the same moment would never meet.
		if i != m.Index {
			args = append(args, "-retry-join="+address(h, "serf_lan"))
		}
	}
	return append(args, o.Flags...)
}

// config is the configuration file: what has no flag, and the ports.
func (o *Options) config(m database.Member) map[string]any {
	ports := m.Self().Ports
	const off = -1
	open := map[string]int{
		"http": ports["client"], "https": off, "server": ports["server"], "serf_lan": ports["serf_lan"],
		"serf_wan": off, "dns": off, "grpc": off, "grpc_tls": off,
	}
	limits := map[string]int{
		"http_max_conns_per_client": o.HTTPMaxConnsPerClient,
		"rpc_max_conns_per_client":  o.RPCMaxConnsPerClient,
	}
	if o.KVMaxValueSize > 0 {
		limits["kv_max_value_size"] = o.KVMaxValueSize
	}
	config := map[string]any{
		"performance":    map[string]int{"raft_multiplier": o.RaftMultiplier},
		"limits":         limits,
		"ports":          open,
		"log_level":      o.LogLevel,
		"retry_interval": "1s",
		// A member that is stopped comes back: it must not leave the cluster.
		"leave_on_terminate":      false,
		"skip_leave_on_interrupt": true,
		"disable_update_check":    true,
		"ui_config":               map[string]bool{"enabled": false},
	}
	if o.EnableDebug {
		config["enable_debug"] = true
	}
	if t := m.TLS; t != nil {
		open["http"], open["https"] = off, ports["client"]
		config["tls"] = map[string]any{"defaults": map[string]any{
			"ca_file": t.CA, "cert_file": t.Cert, "key_file": t.Key, "verify_incoming": true, "verify_outgoing": true,
		}}
	}
	return config
}

// logRules find what disturbs a run in Consul's log.
func logRules() []database.LogRule {
	return []database.LogRule{
		{Event: "leader elected", Pattern: `agent\.server: cluster leadership acquired`},
		{Event: "leader lost", Pattern: `agent\.server: cluster leadership lost`},
		{Event: "election", Pattern: `agent\.server\.raft: heartbeat timeout reached, starting election`},
		{Event: "quorum lost", Pattern: `agent\.server\.raft: failed to contact quorum of nodes`},
		{Event: "peer unreachable", Pattern: `agent\.server\.raft: failed to (contact|heartbeat to|appendEntries to)[: ]`},
		{Event: "snapshot", Pattern: `agent\.server\.raft: starting snapshot up to`},
		{Event: "large raft entry", Pattern: `Attempting to apply large raft entry`},
	}
}

// memberName counts from 1, as the log names of results do.
func memberName(index int) string { return fmt.Sprintf("consul-%d", index+1) }

func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}
