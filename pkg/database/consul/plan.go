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

// Paths below the member directory.
const (
	dataDir    = "data"
	configFile = "consul.json"
)

// Plan returns one command, named "consul", that runs the tool "consul", which must be
// oldestRelease or newer. Hosts must be IP addresses, because Consul binds to them.
//
// Only the ports of the three roles are open. Wide-area gossip, DNS and gRPC, which the key-value
// store does not use, are off.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan consul: the member must be from 0 to %d, got %d", len(m.Hosts)-1, m.Index)
	}
	if m.Tools[Name] == "" {
		return database.Plan{}, errors.New("plan consul: no consul executable, and none is built in")
	}
	self := m.Self()
	if net.ParseIP(self.Addr) == nil {
		return database.Plan{}, fmt.Errorf("plan consul: the host must be an IP address, got %q", self.Addr)
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
		LogRules: logRules(), LogTimes: logTimes(),
		Metrics: metrics(m),
	}, nil
}

// args returns the agent arguments.
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
		// A member must not join itself: the first address that answers ends the attempts,
		// and members that start at the same moment would not find each other.
		if i != m.Index {
			args = append(args, "-retry-join="+address(h, "serf_lan"))
		}
	}
	return append(args, o.Flags...)
}

// config returns the configuration file: the ports, and settings without a flag.
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
		// A stopped member stays in the cluster, because it is started again.
		"leave_on_terminate":      false,
		"skip_leave_on_interrupt": true,
		"disable_update_check":    true,
		"ui_config":               map[string]bool{"enabled": false},
		"telemetry":               telemetry(),
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
