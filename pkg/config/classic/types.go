package classic

import "github.com/coreos/dbtester/pkg/yamlfile"

// File is a file as it was written. Values that have a key and a place are of type
// [yamlfile.Given].
type File struct {
	Title, Description yamlfile.Given[string]
	// Databases are in the order in all_database_id_list. At is the mapping that holds them.
	Databases []*Database
	At        *yamlfile.Node
	// Export holds the paths that control writes result files to, by file name in a tag folder.
	Export map[string]string
	Upload Upload
	// Inputs holds the files that analyze reads, by database id.
	Inputs map[string]Inputs
	Plots  yamlfile.Given[[]Plot]
	Report Report
}

// Database collects the values for one database from their places in the schema.
type Database struct {
	ID string
	// At is the id's node.
	At *yamlfile.Node
	// Tag, Version and Description follow from database_description.
	Tag, Version, Description yamlfile.Given[string]
	Hosts                     yamlfile.Given[[]Host]
	// Options is the struct from [Known], decoded over its defaults.
	Options any
	// Load is the zero Load if the load step is not taken.
	Load  Load
	Steps Steps
}

// Host is one machine in peer_ips. Both ports are unset if the file leaves them to their defaults.
type Host struct {
	Addr                    string
	At                      *yamlfile.Node
	AgentPort, DatabasePort yamlfile.Given[int]
}

// Load holds benchmark_options. ClientSteps replaces Clients and Connections.
type Load struct {
	Operation            yamlfile.Given[string]
	Requests             yamlfile.Given[int64]
	Clients, Connections yamlfile.Given[int]
	ClientSteps          yamlfile.Given[[]yamlfile.Given[int]]
	Rate                 yamlfile.Given[float64]
	SameKey              yamlfile.Given[bool]
	KeySize, ValueSize   yamlfile.Given[int]
	Read                 yamlfile.Given[string]
}

// Steps holds benchmark_steps. A step that the file does not name is not taken.
type Steps struct{ Start, Load, Stop, Upload yamlfile.Given[bool] }

// Upload is the bucket that results are copied to. URL is unset without a bucket.
type Upload struct {
	URL, KeyFile yamlfile.Given[string]
	Project      string
}

// Inputs are the files that analyze reads and writes for one database, as paths.
type Inputs struct {
	Files, Outputs map[string]string
	Servers        []string
}

// Plot is an entry in analyze_plot_list.
type Plot struct{ Column, X, Y yamlfile.Given[string] }

// Report names the files that analyze writes.
type Report struct {
	TableCSV, TableTXT, PlotDir, README string
	Images                              []Image
}

// Image is one picture in the README. Kind is local or remote.
type Image struct{ Title, Path, Kind string }

// Known describes a database to the reader: a fresh options struct with every default, or nil, and
// the words for its read modes.
type Known struct {
	Options any
	Reads   []string
}

// Lookup finds the database that an id names. It reports unknown ids.
type Lookup func(r *yamlfile.Reader, id *yamlfile.Node) (Known, bool)

// The two keys that the classic schema misspells.
const (
	ControlKey = "datatbase_id_to_config_client_machine_agent_control"
	AnalyzeKey = "datatbase_id_to_config_analyze_machine_initial"
)
