package database

import "github.com/coreos/dbtester/pkg/metric"

// MetricsSource is where a member reports its own metrics, and which ones are recorded. It is only
// data: package scrape fetches and parses.
type MetricsSource struct {
	// URL serves metrics in the Prometheus text format. Its scheme is the one that the member's
	// clients use.
	URL string
	// Header is sent to URL, and is nowhere shown: it may have a token.
	Header map[string]string
	// Address and Command, used instead of URL, are a host:port and the request to send.
	// Each answer line has one name and one value; the answer ends when the server closes the
	// connection. TLS is used if the member's clients use it.
	Address, Command string
	Metrics          []ReportedMetric
}

// MetricsReporter is a driver whose members report their own metrics at the address to which
// clients connect. A cluster that already runs, without agents, is asked there.
type MetricsReporter interface {
	// Reports returns where a member of t reports them, without a request. The database may have
	// several names for one metric, for different releases and settings.
	Reports(t Target, member int) MetricsSource
}

// ReportedMetric maps a metric to the name that a database has for it.
type ReportedMetric struct {
	// Name is listed in [metric.OfDatabase].
	Name metric.Name
	// Raw is the name in the database, without labels. A histogram is named by its buckets.
	Raw string
	// Unit is the unit in the database, in units of the metric; 0 means 1.
	Unit float64
	// Labelled numbers are the sums over all label values. They are 0 where no line has one yet.
	Labelled bool
	// Added numbers are added to those under other names of the metric. Without it, the last one
	// counts.
	Added bool
	// Words maps values that are words to numbers; other words are unknown.
	Words map[string]float64
}
