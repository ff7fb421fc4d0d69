package zookeeper

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// logTimes find the time of a log line, in the formats of conf. The JVM runs in UTC.
func logTimes() []declared.LogTime {
	return []declared.LogTime{{Pattern: `^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) `, Layout: "2006-01-02 15:04:05,000"}}
}

// logRules find disturbances of a run in the logs of ZooKeeper 3.4 to 3.9.
func logRules() []declared.LogRule {
	took := `TOOK - (\d+)`
	return []declared.LogRule{
		{Event: "leader elected", Pattern: `LEADING - LEADER ELECTION TOOK`, Value: took, Unit: "ms", Help: "the member leads after an election that took so long"},
		{Event: "following", Pattern: `FOLLOWING - LEADER ELECTION TOOK`, Value: took, Unit: "ms", Help: "the member follows after an election that took so long"},
		{Event: "election", Pattern: `New election\. My id`, Help: "the member asks for an election"},
		{Event: "leader lost", Pattern: `Exception when following the leader`, Help: "the member lost its leader, and serves nobody until the next one"},
		{Event: "slow fsync", Pattern: `fsync-ing the write ahead log in .* took \d+ms`, Value: `took (\d+)ms`, Unit: "ms", Help: "the transaction log was on disk after over a second: the disk is too slow or busy"},
		{Event: "snapshot", Pattern: `Snapshotting: 0x`, Help: "the member writes a snapshot of its state"},
		{Event: "snapshot taken", Pattern: `Snapshot taken in \d+ ms`, Value: `taken in (\d+) ms`, Unit: "ms", Help: "writing a snapshot took so long (from 3.6)"},
		{Event: "snapshot skipped", Pattern: `Too busy to snap, skipping`, Help: "a snapshot was due while the one before it was still being written"},
		{Event: "snapshot sent", Pattern: `Sending (SNAP|snapshot last zxid)`, Help: "a follower that fell behind was sent the whole state"},
		{Event: "snapshot received", Pattern: `Getting a snapshot from leader`, Help: "this member fell behind and was sent the whole state"},
		{Event: "follower dropped", Pattern: `GOODBYE /`, Help: "the leader gave up a follower"},
		{Event: "session expired", Pattern: `Expiring session 0x`, Help: "a client was silent for longer than its time-out"},
		{Event: "throttled", Pattern: `Throttled request`, Help: "the server delayed requests on purpose"},
		{Event: "paused", Pattern: `Detected pause in JVM or host machine`, Value: `pause of approximately (\d+)ms`, Unit: "ms", Help: "the JVM stood still: garbage collection, or the machine"},
		{Event: "request too large", Pattern: `Len error`, Help: "a client sent more than jute_max_buffer"},
		{Event: "too many connections", Pattern: `Too many connections`, Help: "a client was refused"},
		{Event: "out of memory", Pattern: `java\.lang\.OutOfMemoryError`, Help: "the heap is too small (java_xmx)"},
	}
}
