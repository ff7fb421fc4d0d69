package database

// Sizer is a driver that knows what data costs a member of its database, and at which
// size the member fails. The figures are measured on a real server; the driver's comments
// give the sizes that they come from.
type Sizer interface {
	// Needs returns what one member needs for data, in the order in which it is printed.
	Needs(d Data) []Need
}

// MemoryFitter is a driver with options that must fit the memory of its members, such as
// the size of a heap.
type MemoryFitter interface {
	// FitMemory changes the options so that a member fits into that many bytes. Those that
	// were given, by their keys in experiment files, stay, and are refused if they can't
	// fit: all problems are joined, each beginning with the option's key, or with "memory"
	// if no option would do.
	FitMemory(bytes int64, given func(option string) bool) error
}

// Pacer is a driver that knows about how fast a cluster of its database is.
type Pacer interface {
	// Pace returns about how many requests per second three members on one machine of two
	// processors answer to a closed loop of that many clients. It is for durations that are
	// printed before a run, and enters no result.
	Pace(clients int) Pace
}

// Pace is a throughput in requests per second.
type Pace struct{ Writes, Reads float64 }

// Data is what is written to a store.
type Data struct {
	// Keys exist at the end. Writes is how often a key was written: each once, and again
	// by updates.
	Keys, Writes int64
	// Before is how many of the keys exist before the load. The others are created evenly
	// during it.
	Before int64
	// KeySize is in bytes, and so is ValueSize, which is the mean.
	KeySize, ValueSize int64
	// Snapshots is how often control asks each member for one during the load, at equal
	// times.
	Snapshots int64
}

// Need is what a member needs of one resource.
type Need struct {
	Resource Resource
	// Bytes is what the data comes to.
	Bytes int64
	// Limit is the size in bytes at which the member fails; 0 is what its machine has.
	Limit int64
	// Option is the option that sets Limit, as messages name it; "" without one.
	Option string
	// Why explains a size that is not obvious: "every update stays in it". It may be "".
	Why string
}

// Resource is something of a member that data fills.
type Resource string

// The resources of a member. The store is a database file, and part of the disk.
const (
	ResourceStore  Resource = "store"
	ResourceHeap   Resource = "heap"
	ResourceMemory Resource = "memory"
	ResourceDisk   Resource = "disk"
)

// Saturating returns the throughput of that many clients in a closed loop, if one alone
// has one requests per second and any number at most most: half of most is reached by
// most/one clients.
func Saturating(clients int, one, most float64) float64 {
	n := float64(max(clients, 1))
	return n * one * most / (most + (n-1)*one)
}
