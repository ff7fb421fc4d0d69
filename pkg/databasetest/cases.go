package databasetest

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// cases returns all cases in order. Cases that disturb the cluster are last.
func cases() []testCase {
	return []testCase{
		{name: "options", in: parts{Servers}, run: optionsCase},
		{name: "plan", in: parts{Servers}, run: planCase},
		{name: "interfaces", run: interfacesCase},
		{name: "ready", in: parts{Servers}, run: readyCase},
		{name: "version", in: parts{Servers}, run: versionCase, applies: drives[database.Versioner]},
		{name: "leader", in: parts{Servers}, run: leaderCase, applies: drives[database.Leader]},
		{name: "write and read", in: parts{Clients, Servers}, run: writeReadCase},
		{name: "missing key", in: parts{Clients, Servers}, run: missingKeyCase},
		{name: "bytes", in: parts{Clients, Servers}, run: bytesCase},
		{name: "sizes", in: parts{Clients}, run: sizesCase},
		{name: "buffers", in: parts{Clients}, run: buffersCase},
		{name: "limit", in: parts{Clients, Servers}, run: limitCase},
		// Before cases that leave sessions behind: servers also log their expiry.
		{name: "server count", in: parts{Servers}, run: serverCountCase, slow: true, applies: func(f *fixture) bool { return f.suite.ServerCount != nil }},
		{name: "metrics", in: parts{Servers}, run: metricsCase, applies: func(f *fixture) bool { return f.Plan(0).Metrics != nil && !f.suite.Guarded }},
		{name: "deadline", in: parts{Clients}, run: deadlineCase},
		{name: "cancel", in: parts{Clients}, run: cancelCase},
		{name: "delete", in: parts{Clients, Servers}, run: deleteCase, applies: offers(workload.OpDelete)},
		{name: "range", in: parts{Clients, Servers}, run: rangeCase, applies: offers(workload.OpRange)},
		{name: "ranges in modes", in: parts{Clients, Servers}, run: listCase, applies: lists},
		{name: "swap", in: parts{Clients, Servers}, run: swapCase, applies: offers(workload.OpSwap)},
		{name: "txn", in: parts{Clients, Servers}, run: txnCase, applies: offers(workload.OpTxn)},
		{name: "shared connection", in: parts{Clients}, run: sharedCase, applies: func(f *fixture) bool { return f.info().SharedConn }},
		{name: "count", in: parts{Clients, Servers}, run: countCase, applies: drives[database.Counter]},
		{name: "highest key", in: parts{Servers}, run: highestKeyCase, applies: drives[database.KeyFinder]},
		{name: "many keys", in: parts{Servers}, run: bulkCase, applies: drives[database.Bulker]},
		{name: "upkeep", in: parts{Servers}, run: upkeepCase, slow: true, applies: func(f *fixture) bool {
			return f.open() && (drives[database.Compacter](f) || drives[database.Defragmenter](f) || drives[database.Snapshotter](f) && !drives[database.SnapshotPlanner](f))
		}},
		{name: "fill", in: parts{Servers}, run: fillCase, applies: func(f *fixture) bool { return f.open() && drives[database.FillReporter](f) }},
		{name: "prefix", run: prefixCase, slow: true, applies: func(f *fixture) bool { return f.open() && drives[database.Cleaner](f) }},
		{name: "sessions", in: parts{Clients, Servers}, run: sessionsCase, applies: drives[database.SessionDialer], waits: drives[database.SessionDialer]},
		{name: "registry", in: parts{Servers}, run: registryCase, applies: drives[database.Registrar], waits: drives[database.SessionDialer]},
		{name: "requests of sessions", in: parts{Clients, Servers}, run: leasesCase, applies: offers(workload.OpGrant), waits: drives[database.SessionDialer]},
		{name: "ends of such sessions", in: parts{Servers}, run: leaseEndsCase, applies: leasesExpire, waits: drives[database.SessionDialer]},
		{name: "locks", run: locksCase, applies: drives[database.LockDialer], waits: drives[database.SessionDialer]},
		{name: "watches", in: parts{Clients, Servers}, run: watchesCase, applies: drives[database.WatchDialer], waits: watchesWait},
		{name: "prefer", in: parts{Clients, Servers}, run: preferCase},
		{name: "dial nobody", in: parts{Clients}, run: dialNobodyCase},
		{name: "close", in: parts{Clients}, run: closeCase},
		{name: "credentials", in: parts{Clients, Servers}, run: credentialsCase, applies: func(f *fixture) bool { return f.suite.Auth != nil }},
		{name: "certificates", in: parts{Clients}, run: certificatesCase, applies: func(f *fixture) bool { return f.suite.TLS != nil }},
		{name: "lies", run: liesCase, breaks: true, applies: (*fixture).open},
		{name: "stall", in: parts{Clients}, run: stallCase, breaks: true},
		{name: "lose a follower", run: loseFollowerCase, breaks: true},
		{name: "lose the server below", run: loseBelowCase, breaks: true, applies: func(f *fixture) bool { return len(below(f.Plan(0))) > 0 }},
		{name: "lose the leader", run: loseLeaderCase, breaks: true, applies: func(f *fixture) bool {
			return drives[database.Leader](f) && !f.suite.FixedLeader
		}},
		{name: "fail over", in: parts{Clients}, run: failoverCase, breaks: true},
		{name: "stop and start again", in: parts{Servers}, run: restartCase, breaks: true},
		{name: "leaks", run: leaksCase, slow: true},
	}
}
