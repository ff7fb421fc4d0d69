// Package metric declares every sampled number once: its name, CSV column, unit, meaning, kind and
// scope. Sample files, interpolation, deltas, table rows, series, plots and docs/metrics.md are
// derived from the declaration.
//
// Metrics from /proc are in one file per source, which declares them and parses the source;
// [Sources] lists the sources. This package does no I/O.
//
// The metrics that database members report about themselves are declared in database.go. A
// histogram consists of a counter for its count, a counter for its sum, and its buckets.
package metric

import "fmt"

// Name identifies a metric in code and in the experiment file. It is lower case
// with the unit last.
type Name string

// Kind describes how metric values behave over time.
type Kind int

const (
	// Counter never falls while its source lives. It is interpolated linearly between samples;
	// reports show its growth.
	Counter Kind = iota + 1
	// Gauge is a measured momentary value. It is interpolated linearly between samples; reports
	// show its largest value.
	Gauge
	// Setting is the momentary value of a setting. It jumps: a second without a sample has the
	// value in the next sample.
	Setting
	// Rate is the growth of a counter since the previous sample, divided by the time between them.
	// It applies to every second in between.
	Rate
	// Histogram counts values by size. It is not a number; [Buckets] hold it.
	Histogram
)

func (k Kind) String() string {
	return [...]string{"unknown", "counter", "gauge", "setting", "rate", "histogram"}[k]
}

// Scope is the kind of thing a metric describes. Each such thing has its own value.
type Scope int

const (
	// Process includes descendants where the sampler follows them.
	Process Scope = iota + 1
	// Device means the whole block device below the data directory.
	Device
	// Interface carries the traffic. It is sampled as a whole.
	Interface
	// Host is the machine.
	Host
	// Load is applied by control.
	Load
	// Database is one member, as it reports itself.
	Database
	// Namespace means the network namespace of the processes.
	Namespace
	// Group means the control group of the sampled process, in either version.
	Group
)

func (s Scope) String() string {
	return [...]string{"unknown", "process", "device", "interface", "host", "load", "database", "network namespace", "control group"}[s]
}

// Unknown is the value of a metric that could not be read. Known values are 0 or more, and exact up
// to 2^53.
const Unknown = -1.0

// Exact as a number of decimals keeps the last bit of a value.
const Exact = -1

// Metric declares a sampled number once for all readers, writers and reports.
type Metric struct {
	Name Name
	// Column is the column name in sample files.
	Column string
	Unit   string
	// Help completes the sentence "This metric is the ..." and omits the unit.
	Help  string
	Kind  Kind
	Scope Scope
	// Decimals is the number of decimals in sample files. A metric with 0 decimals is a whole
	// number.
	Decimals int
	// Report adds the metric to every report: a table row with its growth or largest value, and a
	// series column, which plots can name. Metrics in the classic reports leave it false, because
	// their rows have their own names and definitions.
	Report bool
	// Optional means that some kernels, or control groups, lack the metric. A missing value is then
	// not an error, and reports omit the row if no sample has the metric.
	Optional bool
}

// Whole reports whether the values are whole numbers.
func (m Metric) Whole() bool { return m.Decimals == 0 }

// check returns an error if the declaration lacks a required part.
func (m Metric) check() error {
	if m.Name == "" || m.Column == "" || m.Unit == "" || m.Help == "" || m.Kind == 0 || m.Scope == 0 {
		return fmt.Errorf("metric %q must have a name, a column, a unit, a help text, a kind and a scope, got %+v", m.Name, m)
	}
	return nil
}
