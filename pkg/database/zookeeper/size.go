package zookeeper

import (
	"strconv"

	"github.com/coreos/dbtester/pkg/database"
)

// What a key costs ZooKeeper in bytes beside its own and its value's. Measured on one
// member of 3.9.5 on Java 17: 350 bytes of heap after a full collection for each of
// 300,000 keys of 16+16 bytes, 1,860 for 256+1024, 17,200 for 256+16384; 114 and 1,384 bytes in a snapshot, 134
// and 1,376 in the log.
const (
	heapPerKey     = 300
	snapshotPerKey = 95
	logPerWrite    = 100
	// heapOther is the heap of a member without keys.
	heapOther = 30 << 20
	// processMemory is what a member has besides its heap.
	processMemory = 150 << 20
)

// heapNeed returns the heap that must stay free of garbage: an object per key, its name
// twice, in the path and in its parent's list, and its value.
func heapNeed(d database.Data) int64 {
	return heapOther + d.Keys*(heapPerKey+d.KeySize*9/4+d.ValueSize)
}

// Needs returns the needs of a member. Every snapshot holds all keys and none is purged,
// so they grow with the square of the writes.
func (o *Options) Needs(d database.Data) []database.Need {
	heap := heapNeed(d)
	most, _ := heapBytes(o.JavaXmx) // Validate reports an error
	need := database.Need{Resource: database.ResourceHeap, Bytes: heap}
	if most > 0 {
		need.Limit, need.Option = most, "java_xmx"
	}
	// A snapshot is made after snap_count/2 to snap_count transactions, at random.
	between := max(float64(o.SnapCount)*3/4, 1)
	filling, full := float64(d.Keys)/between, float64(d.Writes-d.Keys)/between
	size := float64(d.KeySize + d.ValueSize + snapshotPerKey)
	snapshots := (filling*(filling+1)/2*between + full*float64(d.Keys)) * size
	log := float64(d.Writes) * float64(d.KeySize+d.ValueSize+logPerWrite)
	return []database.Need{
		need,
		{Resource: database.ResourceMemory, Bytes: processMemory + max(heap, min(2*heap, most))},
		{Resource: database.ResourceDisk, Bytes: int64(min(snapshots+log, 1<<60)),
			Why: "the log, and a snapshot of all keys about every " + strconv.Itoa(int(between)) + " writes; none is purged"},
	}
}

// Pace is that of three members on one machine of two processors, with 256-byte keys
// and 1 KiB values: test-results/all-five (3,887 writes by 50 clients) and reads (15,735
// by 100).
func (o *Options) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 300, 5500), Reads: database.Saturating(clients, 1500, 17500)}
}
