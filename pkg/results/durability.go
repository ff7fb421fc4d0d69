package results

import "strings"

// Durability is when a write that was answered is on disk. The set is closed.
type Durability string

// The classes of durability.
const (
	// EveryWrite is on disk before it is answered.
	EveryWrite Durability = "every write"
	// InBackground means that writes are synced after they were answered, at intervals.
	InBackground Durability = "in the background"
	// NeverSynced means that the database syncs nothing.
	NeverSynced Durability = "none"
)

// SyncClass is the class of the run's durability, "" if the records do not show it. Records
// that hold no class have a text, of which these two forms are known.
func (r *DatabaseRun) SyncClass() Durability {
	switch {
	case r.Durability != "":
		return r.Durability
	case strings.HasPrefix(r.Fsync, "none:"):
		return NeverSynced
	case strings.HasSuffix(r.Fsync, " before a write is answered"):
		return EveryWrite
	}
	return ""
}
