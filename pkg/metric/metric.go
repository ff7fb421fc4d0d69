// Package metric declares every number that is sampled, once: its name, CSV
// column, unit, meaning, kind and scope. Sample files, interpolation, deltas,
// table rows, series, plots and docs/metrics.md follow from the declaration.
//
// Metrics of /proc lie in one file per source, which declares them and parses the
// source; [Sources] lists the files. This package reads nothing itself.
//
// What members of databases report of themselves is declared in database.go: histograms
// are a counter for their count, one for their sum, and their buckets.
package metric

import "fmt"

// Name identifies a metric in code and in the experiment file. It is lower case
// with the unit last.
type Name string

// Kind is how a metric's values behave in time.
type Kind int

const (
	// Counter never falls while its source lives. Between two samples it lies on a
	// straight line; reports show its growth.
	Counter Kind = iota + 1
	// Gauge is a measured momentary value. Between two samples it lies on a straight
	// line; reports show its largest value.
	Gauge
	// Setting is a momentary value that someone set. It jumps: a second without a
	// sample has the value of the next sample.
	Setting
	// Rate is the growth of a counter over the time since the sample before, so it
	// belongs to every second of that time.
	Rate
	// Histogram is a count of values by their size. It is no number: it is held as
	// [Buckets].
	Histogram
)

func (k Kind) String() string {
	return [...]string{"unknown", "counter", "gauge", "setting", "rate", "histogram"}[k]
}

// Scope is the thing of which each has its own value of a metric.
type Scope int

const (
	// Process is the sampled process, with its descendants where the sampler follows
	// them.
	Process Scope = iota + 1
	// Device is the block device below the data directory, as a whole.
	Device
	// Interface is the network interface that carries the traffic, as a whole.
	Interface
	// Host is the machine.
	Host
	// Load is the load that control applies.
	Load
	// Database is one member of the database, by its own account.
	Database
	// Namespace is the network namespace of the processes.
	Namespace
	// Group is the control group of the sampled process, of either version.
	Group
)

func (s Scope) String() string {
	return [...]string{"unknown", "process", "device", "interface", "host", "load", "database", "network namespace", "control group"}[s]
}

// Unknown is the value of a metric that could not be read. Known values are 0 or
// more, and exact up to 2^53.
const Unknown = -1.0

// Exact is the number of decimals that keeps a value's last bit.
const Exact = -1

// Metric declares a sampled number once, for all that read, write and show it.
type Metric struct {
	Name Name
	// Column is the column's name in sample files.
	Column string
	Unit   string
	// Help completes the sentence "This metric is the ..." and needs no unit.
	Help  string
	Kind  Kind
	Scope Scope
	// Decimals is the number of digits after the point in sample files. A metric
	// with 0 is a whole number.
	Decimals int
	// Report adds the metric to every report: a table row with its growth or largest
	// value, and a column of the series, which plots can name. Metrics of the classic
	// reports leave it false, because their rows have names and definitions of their
	// own.
	Report bool
	// Optional means that some kernels, or control groups, do not have the metric. That
	// is no error, and reports leave out its row where no sample knows it.
	Optional bool
}

// Whole reports whether the metric's values are whole numbers.
func (m Metric) Whole() bool { return m.Decimals == 0 }

// check returns an error that names the first missing part of a declaration.
func (m Metric) check() error {
	if m.Name == "" || m.Column == "" || m.Unit == "" || m.Help == "" || m.Kind == 0 || m.Scope == 0 {
		return fmt.Errorf("metric %q must have a name, a column, a unit, a help text, a kind and a scope, got %+v", m.Name, m)
	}
	return nil
}
