package results

// The codes of marks. Control sets most of them; analyze adds shared host,
// self-check, not steady and gap. Invalid marks end a run with exit code 3.
const (
	MarkCounts = "counts"
	MarkUnsent = "unsent"
	MarkLost   = "server lost"
	// MarkGeneratorLost is a load of several generators of which one did not issue its part
	// to the end.
	MarkGeneratorLost = "generator lost"
	// MarkMemoryLimit is a member of which the kernel killed processes because of the memory
	// limit that the experiment gave it.
	MarkMemoryLimit = "memory limit"
	MarkKeys        = "keys found"
	// MarkWrongValue is a load in which an answer had a value that was never written under
	// its key.
	MarkWrongValue  = "wrong value"
	MarkKeysUnknown = "keys not counted"
	MarkSharedHost  = "shared host"
	MarkNotDurable  = "not durable"
	MarkSaturated   = "client saturated"
	// MarkUnsampled is a client whose machine does not tell what it uses.
	MarkUnsampled = "client not measured"
	MarkLate      = "client late"
	// MarkStopped is a client that did not run for a part of the load.
	MarkStopped = "client stopped"
	// MarkLibrary is a client that is a library in which requests may queue unseen.
	MarkLibrary  = "client library"
	MarkRate     = "rate not sustained"
	MarkQueueing = "queueing"
	MarkFailed   = "failed requests"
	MarkUnknown  = "unknown outcomes"
	MarkWaiting  = "clients without a server"
	MarkNothing  = "nothing measured"
	MarkExpected = "expected"
	// MarkOtherLoad is a machine whose processors others used.
	MarkOtherLoad   = "other load"
	MarkClock       = "clock"
	MarkSecured     = "secured"
	MarkUnmeasured  = "servers not measured"
	MarkSelfCheck   = "self-check"
	MarkNotUploaded = "not uploaded"
	MarkProfiled    = "profiled"
	MarkNotProfiled = "not profiled"
	// MarkInsecure is a run whose agents let in anyone.
	MarkInsecure = "insecure"
	// MarkGuard is a load that ended because it passed a bound of its guard.
	MarkGuard = "guard"
	// MarkKeysLeft is a cluster of others that still holds keys of the load.
	MarkKeysLeft = "keys left"
	// MarkUnsteady is a load whose throughput or response time changed its level.
	MarkUnsteady = "not steady"
	// MarkCapacity is a search for a capacity that found none, or a wide interval.
	MarkCapacity = "capacity"
	// MarkDrift is a cluster that changed while its capacity was searched for.
	MarkDrift = "drift"
	// MarkUpkeep is upkeep of the cluster that failed.
	MarkUpkeep = "upkeep failed"
	// MarkGap is a part of the records that is missing.
	MarkGap = "gap"
)
