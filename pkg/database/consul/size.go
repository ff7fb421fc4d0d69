package consul

import "github.com/coreos/dbtester/pkg/database"

// The memory for a key in bytes, beyond the key and its value. Both exist more than once and with
// garbage. Measured on one member of 1.16.0 as resident anonymous memory: 1,820 bytes for each of
// 300,000 keys of 16+16 bytes, 6,350 for 256+1024, 33,600 for 256+16384. The Go heap in use is
// about half of that.
const (
	memoryPerKey = 1700
	keyCopies    = 8
	valueCopies  = 2
	// processMemory is a member's memory without keys.
	processMemory = 70 << 20
)

// The disk space for a key: in a snapshot of the same keys, 106, 1,358 and 16,700 bytes. The Raft
// log file grows until the first snapshots, which are up to a minute apart, and then keeps its
// size: 303 MB after 150,000 writes of 256+1024 bytes, and as much after 300,000.
const (
	snapshotPerKey = 80
	snapshots      = 3 // two are kept while the next is written
	logged         = 150_000
)

// Needs returns the needs of a member, which holds every key in memory and has no limit of its own.
func (o *Options) Needs(d database.Data) []database.Need {
	memory := processMemory + d.Keys*(memoryPerKey+keyCopies*d.KeySize+valueCopies*d.ValueSize)
	log := min(d.Writes, logged) * (d.KeySize + d.ValueSize) * 3 / 2
	kept := snapshots * d.Keys * (d.KeySize + d.ValueSize + snapshotPerKey)
	return []database.Need{
		{Resource: database.ResourceMemory, Bytes: memory, Why: "every key is held in memory"},
		{Resource: database.ResourceDisk, Bytes: log + kept, Why: "the log, and three snapshots of all keys"},
	}
}

// Pace returns the pace of three members on one machine with two processors, for 256-byte keys and
// 1 KiB values: test-results/all-five (3,483 writes by 50 clients) and reads (16,701 by 100).
func (o *Options) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 250, 5000), Reads: database.Saturating(clients, 1500, 18500)}
}
