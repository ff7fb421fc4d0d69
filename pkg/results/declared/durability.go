// Package declared holds, as data, what drivers declare about their servers and manifests keep:
// durability, settings, rules for log lines.
package declared

// Durability is when an answered write is on disk. The set is closed.
type Durability string

// The durability classes.
const (
	// EveryWrite is on disk before it is answered.
	EveryWrite Durability = "every write"
	// InBackground means that writes are synced after their answers, at intervals.
	InBackground Durability = "in the background"
	// NeverSynced means that the database syncs nothing.
	NeverSynced Durability = "none"
)
