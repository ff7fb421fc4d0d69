package metric

import "time"

// Source is a place that samplers read and the metrics that they find there.
type Source struct {
	// File is the path below the mount of proc; for the scope Process, below the
	// process's directory there. Samplers know by themselves how to fill in the
	// metrics of a source without a file.
	File    string
	Metrics []Metric
	// Parse sets one reading per metric, in their order, from the file's content.
	// Readings that it leaves alone are unknown. of is the name of the block device
	// or network interface to look for, for sources of those scopes.
	Parse func(data []byte, of string, into []Reading) error
	// Line takes the place of Parse for a file that may be too long to hold. It is
	// called for each line and adds to the readings, which begin at 0.
	Line func(line []byte, into []Reading) error
	// Also is another file of the same form, whose lines are added; it may be absent.
	Also string
	// Every is the shortest time between two readings of a file that costs much; 0
	// means every sample. Samples between two readings do not know the metrics.
	Every time.Duration

	// Controller names the controller of a source of the scope Group. File is in the
	// group's directory in version 2 and OldFile in that of the controller's hierarchy
	// in version 1. Above means that the readings of the groups above are added; else
	// they are those of the innermost group that has any. Those of a group that was made for
	// the processes are its own alone.
	Controller, OldFile string
	Above               bool

	// The rest matters for the scope Process only.

	// Threads means that the file exists for each thread too and counts one thread
	// alone; the file of the process is that of its first thread.
	Threads bool
	// Inclusive means that the kernel adds a child's counts to its parent's when the
	// parent waits for it.
	Inclusive bool
	// Divisor is how many units of a reading make one unit of the metric; 0 is 1.
	Divisor float64
}

// Optional reports whether the file may be absent.
func (s Source) Optional() bool { return s.Metrics[0].Optional }

// Scope returns the scope of the source's metrics, which is the same for all.
func (s Source) Scope() Scope { return s.Metrics[0].Scope }

// Reading is one number as read.
type Reading struct {
	Value float64
	// Waited is the count of children that were waited for, where the kernel keeps it
	// apart from Value.
	Waited float64
}

// Sources lists all sources in the order of the metrics in new columns. A new
// source is a file of this package and a line here.
func Sources() []Source {
	return []Source{
		cpuTime(),
		memory(),
		contextSwitches(),
		diskBytes(),
		processTree(),
		loadAverage(),
		deviceCounters(),
		interfaceCounters(),
		loadClients(),
		runDelay(),
		hostCPU(),
		hostWait(),
		cpuPressure(),
		memoryPressure(),
		ioPressure(),
		tcpSegments(),
		tcpEvents(),
		tcpQueues(),
		groupCPU(),
		groupMemory(),
		groupMemoryLimit(),
		diskFree(),
		groupMemoryKinds(),
		groupMemoryPressure(),
	}
}
