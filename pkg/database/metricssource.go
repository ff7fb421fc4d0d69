package database

import "github.com/coreos/dbtester/pkg/metric"

// MetricsSource is where a member reports numbers of itself, and which of them are
// wanted. It is data: package scrape asks and reads.
type MetricsSource struct {
	// URL is answered in Prometheus' text format. Its scheme is that of the member's
	// clients.
	URL string
	// Address and Command, in place of URL, are a host:port and what is sent there. The
	// answer has one name and one value a line, and ends with the connection. TLS is
	// spoken if the member's clients do.
	Address, Command string
	Metrics          []ReportedMetric
}

// ReportedMetric is a number as a database calls it.
type ReportedMetric struct {
	// Name is one of [metric.OfDatabase].
	Name metric.Name
	// Raw is the database's own name, without labels. A histogram's is that of its
	// buckets.
	Raw string
	// Unit is how much of the metric's unit one of the database's is; 0 is 1.
	Unit float64
	// Words are the numbers of values that are words; other words are unknown.
	Words map[string]float64
}
