package consul

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// logTimes find the time of a log line: YYYY/MM/DD before 1.7, and with a time zone since then.
func logTimes() []declared.LogTime {
	return []declared.LogTime{
		{Pattern: `^\s*(\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d{4})) `, Layout: "2006-01-02T15:04:05Z0700"},
		{Pattern: `^\s*(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) `, Layout: "2006/01/02 15:04:05"},
	}
}

// logRules find events in the Consul log that disturb a run. Before 1.7 lines begin with "raft:"
// and "consul:" instead of "agent.server.raft:" and "agent.server:".
func logRules() []declared.LogRule {
	return []declared.LogRule{
		{Event: "leader elected", Pattern: `: cluster leadership acquired`, Help: "this member leads"},
		{Event: "leader lost", Pattern: `: cluster leadership lost`, Help: "this member does not lead any more"},
		{Event: "election", Pattern: `raft: (Heartbeat|heartbeat) timeout.* reached, starting election`, Help: "the member heard nothing of its leader and asks for an election"},
		{Event: "election repeated", Pattern: `raft: Election timeout reached, restarting election`, Help: "an election found no majority"},
		{Event: "election won", Pattern: `raft: [Ee]lection won`, Value: `term=(\d+)`, Unit: "term", Help: "this member was elected, in this term"},
		{Event: "quorum lost", Pattern: `raft: [Ff]ailed to contact quorum of nodes`, Help: "the leader reaches too few members and steps down"},
		{Event: "peer unreachable", Pattern: `raft: [Ff]ailed to (contact|heartbeat to|appendEntries to|AppendEntries to)(:| [^ ]*:[0-9])`, Value: `server-id=\S+ time=([0-9.]+[a-zµ]+)`, Unit: declared.UnitText, Help: "the leader had no answer of a member for so long"},
		{Event: "snapshot", Pattern: `raft: [Ss]tarting snapshot up to`, Help: "the member writes a snapshot of its state"},
		{Event: "snapshot complete", Pattern: `raft: [Ss]napshot( to \d+)? complete`, Help: "the snapshot is on disk"},
		{Event: "snapshot installed", Pattern: `raft: (Installed|installed) remote snapshot`, Help: "this member fell behind and was sent the whole state"},
		{Event: "snapshot copied", Pattern: `raft: [Cc]opied (\d+ bytes )?to local snapshot`, Value: `(?:bytes=|Copied )(\d+)`, Unit: "bytes", Help: "the state that this member was sent"},
		{Event: "logs behind", Pattern: `raft: .*(previous log term mis-match|[Ll]ast index not found|[Ff]ailed to get previous log|appendEntries rejected)`, Help: "a follower's log has a gap: entries are sent again"},
		{Event: "large raft entry", Pattern: `Attempting to apply large raft entry`, Value: `size_in_bytes=(\d+)`, Unit: "bytes", Help: "one entry is larger than 1.5 MiB: it delays heartbeats"},
		{Event: "throttled", Pattern: `exceeded allowed rate limit`, Help: "Consul's own limits refused requests"},
	}
}
