package metric

import "sync"

// Metrics a database member reports about itself. All databases share these names; each reports the
// ones it has.
const (
	Fsyncs         Name = "fsyncs"
	FsyncSeconds   Name = "fsync_seconds"
	FsyncHistogram Name = "fsync_histogram"

	Commits         Name = "commits"
	CommitSeconds   Name = "commit_seconds"
	CommitHistogram Name = "commit_histogram"

	Snapshots       Name = "snapshots"
	SnapshotSeconds Name = "snapshot_seconds"

	IsLeader      Name = "is_leader"
	LeaderChanges Name = "leader_changes"

	ProposalsCommitted Name = "proposals_committed"
	ProposalsApplied   Name = "proposals_applied"
	ProposalsPending   Name = "proposals_pending"
	ProposalsFailed    Name = "proposals_failed"
	SlowApplies        Name = "slow_applies"
	SlowReads          Name = "slow_reads"

	Outstanding       Name = "outstanding_requests"
	LatencyAvgSeconds Name = "latency_avg_seconds"
	LatencyMaxSeconds Name = "latency_max_seconds"
	Connections       Name = "connections"

	DBBytes      Name = "db_bytes"
	DBUsedBytes  Name = "db_used_bytes"
	Keys         Name = "keys"
	Watches      Name = "watches"
	PauseSeconds Name = "pause_seconds"
	HeapBytes    Name = "heap_bytes"

	PeerTrips        Name = "peer_trips"
	PeerTripSeconds  Name = "peer_trip_seconds"
	Agreements       Name = "agreements"
	AgreementSeconds Name = "agreement_seconds"
	Queued           Name = "queued"
	QueueSeconds     Name = "queue_seconds"
	Applies          Name = "applies"
	ApplySeconds     Name = "apply_seconds"
	Writes           Name = "writes"
	WriteSeconds     Name = "write_seconds"

	QueueTakes         Name = "queue_takes"
	QueueLengthSum     Name = "queue_length_sum"
	PrepareTakes       Name = "prepare_takes"
	PrepareLengthSum   Name = "prepare_length_sum"
	Replications       Name = "replications"
	ReplicationSeconds Name = "replication_seconds"
	ReadChecks         Name = "read_checks"
	ReadCheckSeconds   Name = "read_check_seconds"
)

// OfDatabase returns the metrics that members report about themselves, in column order. Append new
// ones at the end.
func OfDatabase() *List { return ofDatabase() }

var ofDatabase = sync.OnceValue(func() *List {
	l, err := NewList(databaseMetrics()...)
	if err != nil {
		panic(err) // a declaration in this package is wrong
	}
	return l
})

func databaseMetrics() []Metric {
	counter := func(n Name, column, unit, help string) Metric {
		return Metric{Name: n, Column: column, Unit: unit, Kind: Counter, Scope: Database, Decimals: Exact, Help: help}
	}
	gauge := func(n Name, column, unit, help string) Metric {
		return Metric{Name: n, Column: column, Unit: unit, Kind: Gauge, Scope: Database, Decimals: Exact, Help: help}
	}
	histogram := func(n Name, column, help string) Metric {
		return Metric{Name: n, Column: column, Unit: "s", Kind: Histogram, Scope: Database, Decimals: Exact, Help: help}
	}
	return []Metric{
		counter(Fsyncs, "FSYNCS", "times", "times that the log was made durable; for Consul, appends to it"),
		counter(FsyncSeconds, "FSYNC-SECONDS", "s", "time that this took; ZooKeeper counts each in whole milliseconds, so its sum is too small"),
		histogram(FsyncHistogram, "FSYNC-HISTOGRAM", "how long each took, counted up to bounds"),
		counter(Commits, "COMMITS", "times", "commits to the store's file"),
		counter(CommitSeconds, "COMMIT-SECONDS", "s", "time that commits took"),
		histogram(CommitHistogram, "COMMIT-HISTOGRAM", "how long each commit took, counted up to bounds"),
		counter(Snapshots, "SNAPSHOTS", "times", "snapshots that were written"),
		counter(SnapshotSeconds, "SNAPSHOT-SECONDS", "s", "time that snapshots took"),
		gauge(IsLeader, "IS-LEADER", "members", "1 if the member leads, else 0"),
		counter(LeaderChanges, "LEADER-CHANGES", "times", "leader changes that the member saw"),
		counter(ProposalsCommitted, "PROPOSALS-COMMITTED", "entries", "replicated log entries that are committed, as far as the member knows"),
		counter(ProposalsApplied, "PROPOSALS-APPLIED", "entries", "replicated log entries that the member applied"),
		gauge(ProposalsPending, "PROPOSALS-PENDING", "proposals", "proposals by the member that wait to be committed"),
		counter(ProposalsFailed, "PROPOSALS-FAILED", "proposals", "proposals by the member that failed"),
		counter(SlowApplies, "SLOW-APPLIES", "times", "requests that were slow to apply, by the database's own bound"),
		counter(SlowReads, "SLOW-READS", "times", "linearizable reads that waited long, by the database's own bound"),
		gauge(Outstanding, "OUTSTANDING-REQUESTS", "requests", "requests that the member has taken and not answered"),
		gauge(LatencyAvgSeconds, "LATENCY-AVG-SECONDS", "s", "mean request time since the member started, by its own account"),
		gauge(LatencyMaxSeconds, "LATENCY-MAX-SECONDS", "s", "longest request time since the member started, by its own account"),
		gauge(Connections, "CONNECTIONS", "connections", "client connections"),
		gauge(DBBytes, "DB-BYTES", "bytes", "size of the store's file"),
		gauge(DBUsedBytes, "DB-USED-BYTES", "bytes", "part of the store's file that is in use"),
		gauge(Keys, "KEYS", "keys", "keys in the store (for ZooKeeper, znodes)"),
		gauge(Watches, "WATCHES", "watches", "client watches"),
		counter(PauseSeconds, "PAUSE-SECONDS", "s", "time in which the member's runtime stopped its threads to collect garbage; for Java, all time in which its threads did not run"),
		gauge(HeapBytes, "HEAP-BYTES", "bytes", "memory that the member's runtime has allocated"),
		counter(PeerTrips, "PEER-TRIPS", "times", "round trips to other members that the member measured"),
		counter(PeerTripSeconds, "PEER-TRIP-SECONDS", "s", "time that these took"),
		counter(Agreements, "AGREEMENTS", "entries", "replicated log entries that the member proposed as the leader and most members have"),
		counter(AgreementSeconds, "AGREEMENT-SECONDS", "s", "time from their proposal until most members had them, including the members' fsyncs; ZooKeeper counts each in whole milliseconds"),
		counter(Queued, "QUEUED", "entries", "replicated log entries that waited to be written to the member's log"),
		counter(QueueSeconds, "QUEUE-SECONDS", "s", "time that they waited, each in whole milliseconds"),
		counter(Applies, "APPLIES", "entries", "replicated log entries that the member applied to its store, by its own clock"),
		counter(ApplySeconds, "APPLY-SECONDS", "s", "time that this took"),
		counter(Writes, "WRITES", "requests", "writes by the member's own clients that it answered; for Consul, all writes, at the leader"),
		counter(WriteSeconds, "WRITE-SECONDS", "s", "time from when the member had them until it answered; ZooKeeper counts each in whole milliseconds"),
		counter(QueueTakes, "QUEUE-TAKES", "times", "times that the member looked for the next entry to write to its log"),
		counter(QueueLengthSum, "QUEUE-LENGTH-SUM", "entries", "entries that waited for that at these times, summed; divided by QUEUE-TAKES, their mean number"),
		counter(PrepareTakes, "PREPARE-TAKES", "times", "times that the member looked for the next request to check before it is proposed"),
		counter(PrepareLengthSum, "PREPARE-LENGTH-SUM", "requests", "requests that waited for that at these times, summed; divided by PREPARE-TAKES, their mean number"),
		counter(Replications, "REPLICATIONS", "requests", "requests with log entries that the leader sent to other members and that they answered"),
		counter(ReplicationSeconds, "REPLICATION-SECONDS", "s", "time from when these were sent until they were answered, including the other member's log write"),
		counter(ReadChecks, "READ-CHECKS", "times", "times that the leader confirmed with a quorum, before a consistent read, that it still leads"),
		counter(ReadCheckSeconds, "READ-CHECK-SECONDS", "s", "time that this took"),
	}
}
