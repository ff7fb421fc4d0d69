package database

// Sizer is a driver that knows the resources that a member needs for data, and at which size the
// member fails. The figures are measured on a real server; comments in the driver give the sizes
// behind them.
type Sizer interface {
	// Needs returns one member's needs for data, in printing order.
	Needs(d Data) []Need
}

// MemoryFitter is a driver whose options must fit member memory, such as a heap size.
type MemoryFitter interface {
	// FitMemory changes the options so that a member fits into that many bytes. Options
	// that the experiment file gives, by their keys, stay, and are refused if they cannot
	// fit. All problems are joined, each beginning with the option key, or with "memory" if no
	// option would help.
	FitMemory(bytes int64, given func(option string) bool) error
}

// Pacer is a driver that knows roughly how fast its clusters are.
type Pacer interface {
	// Pace returns the approximate throughput of three members on one machine with two processors,
	// in a closed loop of that many clients. It estimates the durations printed before a run, and
	// enters no result.
	Pace(clients int) Pace
}

// Pace is a throughput in requests per second.
type Pace struct{ Writes, Reads float64 }

// Data describes the writes to a store.
type Data struct {
	// Keys is the number of keys at the end. Writes counts all writes: one for each key, and the
	// updates.
	Keys, Writes int64
	// Before is the number of keys before the load. The others are created evenly during the load.
	Before int64
	// KeySize is in bytes, and so is ValueSize, which is the mean.
	KeySize, ValueSize int64
	// Snapshots is the number of snapshots that control requests from each member during the load,
	// at equal intervals.
	Snapshots int64
}

// Need compares the size of the data on a member with the limit of one resource.
type Need struct {
	Resource Resource
	// Bytes is the size the data needs.
	Bytes int64
	// Limit is the size in bytes at which the member fails; 0 means as much as its machine has.
	Limit int64
	// Option is the option that sets Limit, as messages name it; "" without one.
	Option string
	// Why explains a size that is not obvious: "every update stays in it". It may be "".
	Why string
}

// Resource is filled by load data on each member.
type Resource string

// The resources of a member. The store is a database file on the disk.
const (
	ResourceStore  Resource = "store"
	ResourceHeap   Resource = "heap"
	ResourceMemory Resource = "memory"
	ResourceDisk   Resource = "disk"
)

// Saturating returns the throughput of that many clients in a closed loop, if one client alone has
// one requests per second and no number of clients exceeds most. most/one clients reach half of
// most.
func Saturating(clients int, one, most float64) float64 {
	n := float64(max(clients, 1))
	return n * one * most / (most + (n-1)*one)
}
