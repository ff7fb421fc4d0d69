package databasetest

import (
	"slices"

	"github.com/coreos/dbtester/pkg/database"
)

// cases are all promises in the order they are tried. Those that disturb the
// cluster come last.
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
		{name: "deadline", run: deadlineCase},
		{name: "cancel", run: cancelCase},
		{name: "delete", run: deleteCase, applies: offers(database.OpDelete)},
		{name: "range", run: rangeCase, applies: offers(database.OpRange)},
		{name: "swap", run: swapCase, applies: offers(database.OpSwap)},
		{name: "shared connection", run: sharedCase, applies: func(f *fixture) bool { return f.info().SharedConn }},
		{name: "count", run: countCase, applies: drives[database.Counter]},
		{name: "prefer", run: preferCase},
		{name: "dial nobody", run: dialNobodyCase},
		{name: "close", run: closeCase},
		{name: "credentials", run: credentialsCase, applies: func(f *fixture) bool { return f.suite.Auth != nil }},
		{name: "certificates", run: certificatesCase, applies: func(f *fixture) bool { return f.suite.TLS != nil }},
		{name: "stall", run: stallCase, breaks: true},
		{name: "lose a follower", run: loseFollowerCase, breaks: true},
		{name: "lose the server below", run: loseBelowCase, breaks: true, applies: func(f *fixture) bool { return len(below(f.Plan(0))) > 0 }},
		{name: "lose the leader", run: loseLeaderCase, breaks: true, applies: func(f *fixture) bool {
			return drives[database.Leader](f) && !f.suite.FixedLeader
		}},
		{name: "stop and start again", run: restartCase, breaks: true},
		{name: "leaks", run: leaksCase},
	}
}

// drives says whether the driver has an optional interface.
func drives[T any](f *fixture) bool {
	_, ok := f.driver.(T)
	return ok
}

// offers says whether the database lists an operation.
func offers(op database.Op) func(*fixture) bool {
	return func(f *fixture) bool { return slices.Contains(f.info().Operations, op) }
}
