package consul

import (
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

var _ database.Upstream = (*Options)(nil)

// The Consul defaults (agent/config/default.go), the same from 1.14 to 1.21.
const (
	upstreamMultiplier = 5
	upstreamHTTPConns  = 200
	upstreamRPCConns   = 100
)

// SetUpstream sets the values that Consul has without a configuration.
func (o *Options) SetUpstream(string) {
	o.RaftMultiplier, o.KVMaxValueSize, o.LogLevel = upstreamMultiplier, 0, "info"
	o.HTTPMaxConnsPerClient, o.RPCMaxConnsPerClient = upstreamHTTPConns, upstreamRPCConns
}

// Changed returns keys of the configuration by their paths. It omits ports that are off, because
// they are addresses.
func (o *Options) Changed(string) []declared.Setting {
	whole := func(name string, is, preset int) declared.Setting {
		return declared.Setting{Name: name, Value: strconv.Itoa(is), Default: strconv.Itoa(preset)}
	}
	value := o.KVMaxValueSize
	if value == 0 {
		value = maxValue
	}
	list := database.Differing(
		whole("performance.raft_multiplier", o.RaftMultiplier, upstreamMultiplier),
		whole("limits.http_max_conns_per_client", o.HTTPMaxConnsPerClient, upstreamHTTPConns),
		whole("limits.rpc_max_conns_per_client", o.RPCMaxConnsPerClient, upstreamRPCConns),
		whole("limits.kv_max_value_size", value, maxValue),
		declared.Setting{Name: "log_level", Value: o.LogLevel, Default: "info"},
		declared.Setting{Name: "enable_debug", Value: strconv.FormatBool(o.EnableDebug), Default: "false"},
		declared.Setting{Name: "retry_interval", Value: "1s", Default: "30s"},
		declared.Setting{Name: "disable_update_check", Value: "true", Default: "false"},
		declared.Setting{Name: "telemetry.prometheus_retention_time", Value: "24h", Default: "0s"},
		declared.Setting{Name: "telemetry.disable_hostname", Value: "true", Default: "false"},
	)
	for _, f := range o.Flags {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, declared.Setting{Name: name, Value: value})
	}
	return list
}
