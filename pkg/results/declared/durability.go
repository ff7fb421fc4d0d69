// Package declared holds the declarations of drivers about their servers that manifests keep, as
// data: durability, settings, rules for the lines of logs.
package declared

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
