package metric

import "time"

// Source is a place that samplers read, with the metrics found there.
type Source struct {
	// File is the path below the proc mount or, for the scope Process, below the process's
	// directory there. For a source without a file, samplers fill in the metrics themselves.
	File    string
	Metrics []Metric
	// Parse sets one reading per metric, in order, from the file content. Readings it does not set
	// are unknown. of names the block device or network interface, for sources with these scopes.
	Parse func(data []byte, of string, into []Reading) error
	// Line replaces Parse for a file that may be too long to hold in memory. It is called for each
	// line and adds to the readings, which start at 0.
	Line func(line []byte, into []Reading) error
	// Also is another file with the same format, whose lines are added. It may be absent.
	Also string
	// Every is the minimum interval between readings of an expensive file; 0 means every sample. In
	// samples between two readings, the metrics are unknown.
	Every time.Duration

	// Controller names the controller for a source with the scope Group. File is in the group
	// directory in version 2, and OldFile in the group directory in the controller hierarchy in
	// version 1. Above means that readings of ancestor groups are added; otherwise the innermost
	// group with a reading counts. For a group created for the processes, only its own readings
	// count.
	Controller, OldFile string
	Above               bool

	// The fields below apply only to the scope Process.

	// Threads means that each thread has the file, too, and that it counts one thread only. The
	// file of the process itself describes its first thread.
	Threads bool
	// Busiest is the index of the first metric that counts the busiest thread only: between two
	// readings the one for which these metrics grew most in sum. Those before it are summed over
	// all threads; 0 means that all are.
	Busiest int
	// Inclusive means that the kernel adds a child's counts to its parent's when the parent waits
	// for it.
	Inclusive bool
	// Divisor is the number of reading units per metric unit; 0 means 1.
	Divisor float64
}

// Optional reports whether the file may be absent.
func (s Source) Optional() bool { return s.Metrics[0].Optional }

// Scope returns the scope that all metrics in the source share.
func (s Source) Scope() Scope { return s.Metrics[0].Scope }

// Reading is one number as read.
type Reading struct {
	Value float64
	// Waited is the count for children that were waited for, if the kernel keeps it separate from
	// Value.
	Waited float64
}
