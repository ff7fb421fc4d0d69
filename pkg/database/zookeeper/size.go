package zookeeper

import (
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/database"
)

// The overhead per key in bytes, beyond the key and its value. Measured on one member of
// 3.9.5 on Java 17: 350 bytes of heap after a full collection for each of 300,000 keys of 16+16
// bytes, 1,860 for 256+1024, 17,200 for 256+16384. In a snapshot it is 114 and 1,384 bytes, in the
// log 134 and 1,376.
const (
	heapPerKey     = 300
	snapshotPerKey = 95
	logPerWrite    = 100
	// heapOther is a member's heap without keys.
	heapOther = 30 << 20
	// processMemory is a member's memory without its heap.
	processMemory = 150 << 20
)

// heapNeed returns the heap for live data: per key an object, its value, and its name twice,
// in the path and in its parent's list.
func heapNeed(d database.Data) int64 {
	return heapOther + d.Keys*(heapPerKey+d.KeySize*9/4+d.ValueSize)
}

// Needs returns the needs of a member. Every snapshot has all keys and is kept, so snapshots grow
// with the square of the writes.
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
	snapshots += float64(d.Snapshots) * float64(d.Before+d.Keys) / 2 * size // the mean during the load
	log := float64(d.Writes) * float64(d.KeySize+d.ValueSize+logPerWrite)
	return []database.Need{
		need,
		{Resource: database.ResourceMemory, Bytes: processMemory + max(heap, min(2*heap, most))},
		{Resource: database.ResourceDisk, Bytes: int64(min(snapshots+log, 1<<60)),
			Why: "the log, and a snapshot of all keys about every " + strconv.Itoa(int(between)) + " writes" + asked(d.Snapshots) + "; none is purged"},
	}
}

// The largest default heap, in percent of the member memory, and the smallest heap, in bytes.
const (
	heapPercent = 60
	leastHeap   = 32 << 20
)

// FitMemory sets the largest heap to at most 60 % of the memory, and leaves at least
// [processMemory] for the rest of the JVM.
func (o *Options) FitMemory(bytes int64, given func(option string) bool) error {
	most, err := heapBytes(o.JavaXmx)
	if err != nil {
		return nil // Validate reports it
	}
	room := bytes - processMemory
	if given("java_xmx") {
		if most > room {
			return fmt.Errorf("java_xmx must leave %s of the member's memory (%s) to the rest of the JVM, got %s",
				humanize.Bytes(processMemory), humanize.Bytes(uint64(bytes)), o.JavaXmx)
		}
	} else if fit := min(bytes/100*heapPercent, room); fit < leastHeap {
		return fmt.Errorf("memory must be at least %s, got %s: besides its heap the JVM takes %s",
			humanize.Bytes(processMemory+leastHeap), humanize.Bytes(uint64(bytes)), humanize.Bytes(processMemory))
	} else if most == 0 || most > fit {
		most = fit >> 20 << 20
		o.JavaXmx = strconv.FormatInt(most>>20, 10) + "M"
	}
	least, err := heapBytes(o.JavaXms)
	switch {
	case err != nil: // Validate reports it
	case given("java_xms") && least > room:
		return fmt.Errorf("java_xms must leave %s of the member's memory (%s) to the rest of the JVM, got %s",
			humanize.Bytes(processMemory), humanize.Bytes(uint64(bytes)), o.JavaXms)
	case !given("java_xms") && most > 0 && least > most:
		o.JavaXms = o.JavaXmx
	}
	return nil
}

// asked describes the snapshots that control requests.
func asked(snapshots int64) string {
	if snapshots == 0 {
		return ""
	}
	return " and " + strconv.FormatInt(snapshots, 10) + " by maintain.snapshot"
}

// Pace returns the pace of three members on one machine with two processors, for 256-byte keys and
// 1 KiB values: test-results/all-five (3,887 writes by 50 clients) and reads (15,735 by 100).
func (o *Options) Pace(clients int) database.Pace {
	return database.Pace{Writes: database.Saturating(clients, 300, 5500), Reads: database.Saturating(clients, 1500, 17500)}
}
