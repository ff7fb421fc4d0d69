// Package config reads an experiment file: compact or classic, strictly, with
// every default filled in and every problem reported at its line and column. It
// knows no database: drivers' options are decoded into structs of a [Catalog].
package config

import "time"

// Experiment is a resolved experiment file: nothing in it is left to default
// later. Both schemas, compact and classic, fill the same types.
type Experiment struct {
	// Path is the file it was read from, "" for a built-in one.
	Path string `json:"path,omitempty"`
	// Classic says the file used the classic schema.
	Classic     bool   `json:"classic,omitempty"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Seed makes keys and values; 0 was replaced by a stated default.
	Seed uint64 `json:"seed"`
	// Trials is how often the whole experiment is repeated, each time on fresh data
	// directories, with the order of databases rotated by one, and Settle between.
	Trials int           `json:"trials"`
	Settle time.Duration `json:"settle_ns"`
	// Results is the folder that result folders are made in.
	Results   string     `json:"results"`
	Steps     Steps      `json:"steps"`
	Databases []Database `json:"databases"` // in the order of the file
	Plots     []Plot     `json:"plots,omitempty"`
	Upload    *Upload    `json:"upload,omitempty"`
	// Profile is nil unless members are to profile themselves.
	Profile *Profile `json:"profile,omitempty"`
	// Export are paths that control copies result files to, by their names in a
	// tag's folder ("client-system-metrics.csv"). A classic file gives them without
	// a tag, for it runs one database at a time.
	Export map[string]string `json:"export,omitempty"`
	// Inputs are the classic files that analyze reads instead of a result folder,
	// by tag.
	Inputs map[string]Inputs `json:"inputs,omitempty"`
	// Report is where analyze writes for a classic file; zero for compact ones.
	Report Report `json:"report,omitzero"`
}

// Steps are the parts of a run that are carried out.
type Steps struct {
	Start  bool `json:"start"`
	Load   bool `json:"load"`
	Stop   bool `json:"stop"`
	Upload bool `json:"upload"`
}

// Database is one database of an experiment: one column of its table.
type Database struct {
	// ID is the key in the file: NAME or NAME__LABEL.
	ID    string `json:"id"`
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
	// Tag names the folder and the column; it is unique in the file. A compact file
	// gives NAME-VERSION or NAME-LABEL, a classic one its description by the
	// classic rule.
	Tag         string `json:"tag"`
	Description string `json:"description,omitempty"`
	// Version is the release to run, such as "v3.6.16"; "" leaves it to the driver.
	Version string `json:"version,omitempty"`
	Install bool   `json:"install,omitempty"`
	// Binary is another executable for the driver's first tool; "" the default.
	Binary string `json:"binary,omitempty"`
	Hosts  []Host `json:"hosts"`
	// Endpoints are client addresses of a cluster that already runs; Hosts may then
	// be empty.
	Endpoints []string `json:"endpoints,omitempty"`
	// TLS is nil for plaintext, Auth for clients that show no credentials.
	TLS  *TLS  `json:"tls,omitempty"`
	Auth *Auth `json:"auth,omitempty"`
	// Options is the driver's options struct, decoded over its defaults: the value
	// that Catalog gave.
	Options any `json:"options,omitempty"`
	// OptionsYAML is Options encoded again, every default filled in: what the wire
	// carries. Nil if the database has no options.
	OptionsYAML []byte `json:"-"`
	Load        Load   `json:"load"`
	// Steps overlays the experiment's (classic files give steps per database).
	Steps Steps `json:"steps"`
}

// Host is one database machine.
type Host struct {
	// Addr is an IP address or a host name.
	Addr string `json:"addr"`
	// AgentPort is where its agent listens.
	AgentPort int `json:"agent_port"`
	// Ports are all ports of the database on this host, by role ("client", "peer").
	Ports map[string]int `json:"ports,omitempty"`
}

// Agent is the address of the host's agent.
func (h Host) Agent() string { return joinHostPort(h.Addr, h.AgentPort) }

// Load is what clients do.
type Load struct {
	// Operation is what every request does: write, update, read, read-oneshot,
	// delete, range or swap; "" if there is a Mix.
	Operation string `json:"operation,omitempty"`
	// Workload names the mix that was asked for by name (ycsb-a ... ycsb-f); Mix holds
	// what it stands for.
	Workload string `json:"workload,omitempty"`
	// Mix are operations and their weights in the order of the file; empty means
	// Operation alone.
	Mix []Share `json:"mix,omitempty"`
	// Keys is how many keys are written before the load, for operations on keys that
	// exist; KeyLaw says which of them an operation takes: sequential, uniform,
	// zipfian or latest. Neither means anything with SameKey or if all is writes.
	Keys   int64  `json:"keys,omitempty"`
	KeyLaw string `json:"key_law,omitempty"`
	// Requests bounds the load if not 0, Duration too; one of them does. With Steps
	// they are the sums over the steps.
	Requests int64         `json:"requests"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Clients is the number of concurrent clients, Connections of connections they
	// share. Steps, if not empty, are carried out one after the other; Clients and
	// Connections are then the most of any.
	Clients     int    `json:"clients"`
	Connections int    `json:"connections"`
	Steps       []Step `json:"steps,omitempty"`
	// Rate is due requests per second over all clients; 0 is a closed loop.
	Rate float64 `json:"rate,omitempty"`
	// RateEnd, if not 0, is the rate at the end of Duration. Ramp spreads the clients'
	// first requests of a closed loop over so long. With Steps both are 0, for each
	// step has its own.
	RateEnd float64       `json:"rate_end,omitempty"`
	Ramp    time.Duration `json:"ramp_ns,omitempty"`
	// Arrival is constant or poisson. Arrival, Backlog and Drain mean nothing in a
	// closed loop, and are the defaults there.
	Arrival string `json:"arrival"`
	// Backlog is keep (send late what was due) or shed (count it as shed).
	Backlog string `json:"backlog"`
	// KeySize and ValueSize are in bytes, and exact.
	KeySize   int `json:"key_size"`
	ValueSize int `json:"value_size"`
	// ValueSizeMax, if not 0, makes sizes uniform from ValueSize to it.
	ValueSizeMax int `json:"value_size_max,omitempty"`
	// RangeLimit is how many keys a range reads at most; 0 if nothing reads ranges.
	RangeLimit int `json:"range_limit,omitempty"`
	// SameKey sends every request to one key.
	SameKey bool `json:"same_key,omitempty"`
	// Read is the read mode of an operation that reads, "" for one that does not.
	Read string `json:"read,omitempty"`
	// Timeout is the deadline of one request, counted from when it was sent.
	Timeout time.Duration `json:"timeout_ns"`
	// Drain is how long the backlog is still sent after the end.
	Drain time.Duration `json:"drain_ns"`
	// WarmUp and CoolDown are cut from the measured population.
	WarmUp   time.Duration `json:"warm_up_ns,omitempty"`
	CoolDown time.Duration `json:"cool_down_ns,omitempty"`
	// Target says which members connections go to: all, leader, follower, a host's
	// address, or one of the endpoints.
	Target string `json:"target"`
}

// Step is one stretch of a stepped load.
type Step struct {
	Clients     int `json:"clients"`
	Connections int `json:"connections"`
	// Requests bounds the step if not 0, Duration too; one of them does.
	Requests int64         `json:"requests,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	Rate     float64       `json:"rate,omitempty"`
	// RateEnd, if not 0, is the rate at the end of Duration.
	RateEnd float64 `json:"rate_end,omitempty"`
	// Ramp spreads the clients' first requests of a closed loop over so long.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
}

// Share is one operation of a mix.
type Share struct {
	Operation string  `json:"operation"`
	Weight    float64 `json:"weight"`
}

// Plot is one time plot of a report.
type Plot struct {
	Column string `json:"column"`
	XAxis  string `json:"x_axis"`
	YAxis  string `json:"y_axis"`
}

// Upload says where result folders are copied to.
type Upload struct {
	// URL is a bucket: gs://bucket/prefix, s3://bucket/prefix, file:///dir.
	URL string `json:"url"`
	// KeyFile holds the credentials; it is read only when an upload is asked for.
	KeyFile string `json:"key_file,omitempty"`
	Project string `json:"project,omitempty"`
}

// Inputs are one database's classic files, as paths.
type Inputs struct {
	// Files maps names of a tag's folder to paths.
	Files map[string]string `json:"files"`
	// Servers are the interpolated samples, one per server, in order.
	Servers []string `json:"servers"`
	// Outputs maps names of what analyze writes for one database to paths
	// ("all-aggregated.csv", "server-memory-by-key-number.csv").
	Outputs map[string]string `json:"outputs,omitempty"`
}

// Report is where analyze writes the outputs of a classic file.
type Report struct {
	TableCSV string  `json:"table_csv,omitempty"`
	TableTXT string  `json:"table_txt,omitempty"`
	PlotDir  string  `json:"plot_dir,omitempty"`
	README   string  `json:"readme,omitempty"`
	Images   []Image `json:"images,omitempty"`
}

// Image is one picture of a classic README; Type is local or remote.
type Image struct {
	Title string `json:"title"`
	Path  string `json:"path"`
	Type  string `json:"type"`
}

// Catalog tells config which databases exist. It is made from the registry by
// the program's wiring, so that config imports no database.
type Catalog []Entry

// Entry is one database of a catalog.
type Entry struct {
	Name string
	// Options returns a pointer to a fresh options struct holding every default.
	Options func() any
	// Reads and Operations are what the database supports; the first read mode is
	// its default.
	Reads      []string
	Operations []string
	// Ports are the default ports by role.
	Ports map[string]int
	// SharedConn: connections may be fewer than clients.
	SharedConn bool
	// TLS: members and clients can speak it. Auth: clients can show credentials.
	TLS, Auth bool
	// MaxValue is the largest value in bytes. Options with a method
	// MaxValue(keySize int) int know it better.
	MaxValue int
	// Leader: which member leads can be asked.
	Leader bool
	// Embedded: the driver needs no version.
	Embedded bool
}
