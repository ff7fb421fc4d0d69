package databasetest

import (
	"slices"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// cases returns all cases in their order. Those that disturb the cluster are last.
func cases() []testCase {
	return []testCase{
		{name: "options", run: optionsCase},
		{name: "plan", run: planCase},
		{name: "interfaces", run: interfacesCase},
		{name: "ready", run: readyCase},
		{name: "version", run: versionCase, applies: drives[database.Versioner]},
		{name: "leader", run: leaderCase, applies: drives[database.Leader]},
		{name: "write and read", run: writeReadCase},
		{name: "missing key", run: missingKeyCase},
		{name: "bytes", run: bytesCase},
		{name: "sizes", run: sizesCase},
		{name: "buffers", run: buffersCase},
		{name: "limit", run: limitCase},
		// Before cases that leave sessions behind, whose expiry servers log too.
		{name: "server count", run: serverCountCase, applies: func(f *fixture) bool { return f.suite.ServerCount != nil }},
		{name: "metrics", run: metricsCase, applies: func(f *fixture) bool { return f.Plan(0).Metrics != nil && !f.suite.Guarded }},
		{name: "deadline", run: deadlineCase},
		{name: "cancel", run: cancelCase},
		{name: "delete", run: deleteCase, applies: offers(workload.OpDelete)},
		{name: "range", run: rangeCase, applies: offers(workload.OpRange)},
		{name: "swap", run: swapCase, applies: offers(workload.OpSwap)},
		{name: "txn", run: txnCase, applies: offers(workload.OpTxn)},
		{name: "shared connection", run: sharedCase, applies: func(f *fixture) bool { return f.info().SharedConn }},
		{name: "count", run: countCase, applies: drives[database.Counter]},
		{name: "highest key", run: highestKeyCase, applies: drives[database.KeyFinder]},
		{name: "many keys", run: bulkCase, applies: drives[database.Bulker]},
		{name: "upkeep", run: upkeepCase, applies: func(f *fixture) bool {
			return f.open() && (drives[database.Compacter](f) || drives[database.Defragmenter](f) || drives[database.Snapshotter](f) && !drives[database.SnapshotPlanner](f))
		}},
		{name: "fill", run: fillCase, applies: func(f *fixture) bool { return f.open() && drives[database.FillReporter](f) }},
		{name: "prefix", run: prefixCase, applies: func(f *fixture) bool { return f.open() && drives[database.Cleaner](f) }},
		{name: "sessions", run: sessionsCase, applies: drives[database.SessionDialer]},
		{name: "prefer", run: preferCase},
		{name: "dial nobody", run: dialNobodyCase},
		{name: "close", run: closeCase},
		{name: "credentials", run: credentialsCase, applies: func(f *fixture) bool { return f.suite.Auth != nil }},
		{name: "certificates", run: certificatesCase, applies: func(f *fixture) bool { return f.suite.TLS != nil }},
		{name: "lies", run: liesCase, breaks: true, applies: (*fixture).open},
		{name: "stall", run: stallCase, breaks: true},
		{name: "lose a follower", run: loseFollowerCase, breaks: true},
		{name: "lose the server below", run: loseBelowCase, breaks: true, applies: func(f *fixture) bool { return len(below(f.Plan(0))) > 0 }},
		{name: "lose the leader", run: loseLeaderCase, breaks: true, applies: func(f *fixture) bool {
			return drives[database.Leader](f) && !f.suite.FixedLeader
		}},
		{name: "fail over", run: failoverCase, breaks: true},
		{name: "stop and start again", run: restartCase, breaks: true},
		{name: "leaks", run: leaksCase},
	}
}

// drives reports whether the driver has an optional interface.
func drives[T any](f *fixture) bool {
	_, ok := f.driver.(T)
	return ok
}

// offers returns whether the database lists an operation.
func offers(op workload.Op) func(*fixture) bool {
	return func(f *fixture) bool { return slices.Contains(f.info().Operations, op) }
}

// open reports whether the cluster has neither TLS nor credentials.
func (f *fixture) open() bool { return f.suite.TLS == nil && f.suite.Auth == nil }
