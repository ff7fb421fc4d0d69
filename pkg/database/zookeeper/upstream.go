package zookeeper

import (
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

var (
	_ database.Upstream     = (*Options)(nil)
	_ database.MemoryFitter = (*Options)(nil)
)

// The ZooKeeper defaults: from zoo_sample.cfg for the keys a cluster must give (tickTime,
// initLimit, syncLimit), from the server code for the others, and from bin/zkServer.sh for the
// heap, which from 3.5 on is ZK_SERVER_HEAP, 1000 MB.
const (
	upstreamHeap        = "1000m"
	upstreamConnections = 60
	upstreamBacklog     = 50 // -1, which means 50 to Java
)

func upstreamXmx(version string) string {
	if database.Since(version, "3.5.0") {
		return upstreamHeap
	}
	return ""
}

// SetUpstream sets the values of the release without a configuration, and the heap from its start
// script.
func (o *Options) SetUpstream(version string) {
	o.JavaXms, o.JavaXmx, o.JuteMaxBuffer = "", upstreamXmx(version), DefaultMaxPacket
	o.TickTime, o.InitLimit, o.SyncLimit = 2000, 10, 5
	o.SnapCount, o.PreAllocSize, o.ForceSync = 100_000, 64<<10, true
	o.MaxClientConnections, o.ListenBacklog = upstreamConnections, upstreamBacklog
}

// Changed returns keys of zoo.cfg and arguments of the JVM by their names.
func (o *Options) Changed(version string) []declared.Setting {
	whole := func(name string, is, preset int) declared.Setting {
		return declared.Setting{Name: name, Value: strconv.Itoa(is), Default: strconv.Itoa(preset)}
	}
	yes := map[bool]string{true: "yes", false: "no"}
	list := database.Differing(
		declared.Setting{Name: "-Xms", Value: o.JavaXms},
		declared.Setting{Name: "-Xmx", Value: o.JavaXmx, Default: upstreamXmx(version)},
		whole("jute.maxbuffer", o.JuteMaxBuffer, DefaultMaxPacket),
		whole("tickTime", o.TickTime, 2000),
		whole("initLimit", o.InitLimit, 10),
		whole("syncLimit", o.SyncLimit, 5),
		whole("snapCount", o.SnapCount, 100_000),
		whole("preAllocSize", o.PreAllocSize, 64<<10),
		whole("maxClientCnxns", o.MaxClientConnections, upstreamConnections),
		whole("clientPortListenBacklog", o.ListenBacklog, upstreamBacklog),
		declared.Setting{Name: "forceSync", Value: yes[o.ForceSync], Default: "yes"},
		declared.Setting{Name: "jvm.pause.monitor", Value: "true", Default: "false"},
	)
	switch {
	case !database.Since(version, "3.5.0"): // 3.4 has no such server
	case o.AdminPort == 0:
		list = append(list, declared.Setting{Name: "admin.enableServer", Value: "false", Default: "true"})
	default:
		list = append(list, database.Differing(whole("admin.serverPort", o.AdminPort, defaultAdminPort))...)
		list = append(list, declared.Setting{Name: "admin.restore.enabled", Value: "false", Default: "true"})
		if database.Since(version, snapshotVersion) {
			list = append(list, declared.Setting{Name: "admin.rateLimiterIntervalInMS", Value: "1", Default: "300000"})
		}
	}
	for _, f := range o.Flags {
		name, value, _ := strings.Cut(f, "=")
		list = append(list, declared.Setting{Name: name, Value: value})
	}
	return list
}
