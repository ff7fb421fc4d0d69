package etcd

import (
	"github.com/coreos/dbtester/pkg/results/declared"
)

// logTimes find the time of a log line; etcd 3.4 to 3.7 write JSON.
func logTimes() []declared.LogTime {
	return []declared.LogTime{{Pattern: `"ts":"([^"]+)"`, Layout: "2006-01-02T15:04:05Z0700"}}
}

// logRules find events that disturb a run in the logs of etcd 3.4 to 3.7.
func logRules() []declared.LogRule {
	took := declared.JSONField("took")
	return []declared.LogRule{
		{Event: "leader elected", Pattern: `elected leader [0-9a-f]+ at term`, Value: `at term (\d+)`, Unit: "term", Help: "a leader was elected, in this term"},
		{Event: "leader changed", Pattern: `changed leader from [0-9a-f]+ to`, Value: `at term (\d+)`, Unit: "term", Help: "another member leads, from this term on"},
		{Event: "leader lost", Pattern: `lost leader [0-9a-f]+ at term`, Value: `at term (\d+)`, Unit: "term", Help: "the member follows nobody: requests wait for an election"},
		{Event: "slow fdatasync", Pattern: `"msg":"slow fdatasync"`, Value: took, Unit: declared.UnitText, Help: "the log was on disk after over a second: the disk is too slow or busy"},
		{Event: "apply took too long", Pattern: `"msg":"apply request took too long"`, Value: took, Unit: declared.UnitText, Help: "a request took over 100 ms from being read to being applied"},
		{Event: "slow request", Pattern: `"msg":"trace\[`, Value: declared.JSONField("duration"), Unit: declared.UnitText, Help: "a request took over 100 ms; the line has its steps"},
		{Event: "read index took too long", Pattern: `"msg":"waiting for ReadIndex response took too long`, Help: "a linearizable read waited over 500 ms for the leader's confirmation"},
		{Event: "heartbeat late", Pattern: `"msg":"leader failed to send out heartbeat on time`, Value: declared.JSONField("exceeded-duration"), Unit: declared.UnitText, Help: "the leader was so much too late with a heartbeat: its disk or its processors are overloaded"},
		{Event: "raft message dropped", Pattern: `"msg":"dropped internal Raft message since sending buffer is full`, Help: "a member cannot keep up, or the network to it is too slow"},
		{Event: "peer inactive", Pattern: `"msg":"peer became inactive`, Help: "the connection to another member was lost"},
		{Event: "snapshot", Pattern: `"msg":"triggering snapshot"`, Help: "the member writes a snapshot of its state"},
		{Event: "snapshot sent", Pattern: `"msg":"sent database snapshot"`, Value: declared.JSONField("bytes"), Unit: "bytes", Help: "a member that fell behind was sent the whole database"},
		{Event: "snapshot received", Pattern: `"msg":"received and saved database snapshot"`, Help: "this member fell behind and was sent the whole database"},
		{Event: "compaction", Pattern: `"msg":"finished scheduled compaction"`, Value: took, Unit: declared.UnitText, Help: "old revisions were removed"},
		{Event: "defragmented", Pattern: `"msg":"finished defragmenting`, Value: took, Unit: declared.UnitText, Help: "the database's file was rewritten: the member did not serve meanwhile"},
		{Event: "clock differs", Pattern: `"msg":"prober found high clock drift"`, Value: declared.JSONField("clock-drift"), Unit: declared.UnitText, Help: "the clock of another member is over a second off"},
		{Event: "no space", Pattern: `"msg":"message exceeded backend quota`, Help: "the database is as large as its quota allows: writes are refused"},
	}
}
