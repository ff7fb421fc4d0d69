package results

import "github.com/coreos/dbtester/pkg/mark"

// The codes of marks, which package mark declares. Control sets most of them; analyze adds shared host,
// self-check, not steady and gap. Invalid marks end a run with exit code 3.
const (
	MarkCounts = mark.Counts
	MarkUnsent = mark.Unsent
	MarkLost   = mark.Lost
	// MarkGeneratorLost is a load of several generators of which one did not issue its part
	// to the end.
	MarkGeneratorLost = mark.GeneratorLost
	// MarkMemoryLimit is a member of which the kernel killed processes because of the memory
	// limit that the experiment gave it.
	MarkMemoryLimit = mark.MemoryLimit
	MarkKeys        = mark.Keys
	// MarkWrongValue is a load in which an answer had a value that was never written under
	// its key.
	MarkWrongValue  = mark.WrongValue
	MarkKeysUnknown = mark.KeysUnknown
	MarkSharedHost  = mark.SharedHost
	MarkNotDurable  = mark.NotDurable
	MarkSaturated   = mark.Saturated
	// MarkUnsampled is a client whose machine does not tell what it uses.
	MarkUnsampled = mark.Unsampled
	MarkLate      = mark.Late
	// MarkStopped is a client that did not run for a part of the load.
	MarkStopped = mark.Stopped
	// MarkLibrary is a client that is a library in which requests may queue unseen.
	MarkLibrary  = mark.Library
	MarkRate     = mark.Rate
	MarkQueueing = mark.Queueing
	MarkFailed   = mark.Failed
	MarkUnknown  = mark.Outcomes
	MarkWaiting  = mark.Waiting
	MarkNothing  = mark.Nothing
	MarkExpected = mark.Expected
	// MarkOtherLoad is a machine whose processors others used.
	MarkOtherLoad   = mark.OtherLoad
	MarkClock       = mark.Clock
	MarkSecured     = mark.Secured
	MarkUnmeasured  = mark.Unmeasured
	MarkSelfCheck   = mark.SelfCheck
	MarkNotUploaded = mark.NotUploaded
	MarkProfiled    = mark.Profiled
	MarkNotProfiled = mark.NotProfiled
	// MarkInsecure is a run whose agents let in anyone.
	MarkInsecure = mark.Insecure
	// MarkGuard is a load that ended because it passed a bound of its guard.
	MarkGuard = mark.Guard
	// MarkKeysLeft is a cluster of others that still holds keys of the load.
	MarkKeysLeft = mark.KeysLeft
	// MarkUnsteady is a load whose throughput or response time changed its level.
	MarkUnsteady = mark.Unsteady
	// MarkCapacity is a search for a capacity that found none, or a wide interval.
	MarkCapacity = mark.Capacity
	// MarkDrift is a cluster that changed while its capacity was searched for.
	MarkDrift = mark.Drift
	// MarkUpkeep is upkeep of the cluster that failed.
	MarkUpkeep = mark.Upkeep
	// MarkGap is a part of the records that is missing.
	MarkGap = mark.Gap
	// MarkIncomplete is a run that did not complete: it failed, was interrupted, or control
	// died in it.
	MarkIncomplete = mark.Incomplete
)
