// Package config reads an experiment file: compact or classic, strictly, with
// every default filled in and every problem reported at its line and column. It
// knows no database: drivers' options are decoded into structs of a [Catalog].
package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Experiment is an experiment file with every default filled in, of the compact or
// the classic schema.
type Experiment struct {
	// Path is the file it was read from, "" for a built-in one.
	Path string `json:"path,omitempty"`
	// Classic is set if the file has the classic schema.
	Classic     bool   `json:"classic,omitempty"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Seed determines keys and values; it is not 0.
	Seed uint64 `json:"seed"`
	// Trials is the number of runs, each on fresh data directories and with the order
	// of databases turned each time. Settle is the pause between them.
	Trials int           `json:"trials"`
	Settle time.Duration `json:"settle_ns"`
	// Sample is the time between two samples of a machine. Metrics means that agents
	// read what members measure themselves.
	Sample  time.Duration `json:"sample_ns"`
	Metrics bool          `json:"metrics"`
	// Results is the folder for result folders.
	Results   string     `json:"results"`
	Steps     Steps      `json:"steps"`
	Databases []Database `json:"databases"` // in the order of the file
	// Generators are the machines whose agents issue the load together, each one part of
	// it; empty if control issues it.
	Generators []Host  `json:"generators,omitempty"`
	Plots      []Plot  `json:"plots,omitempty"`
	Upload     *Upload `json:"upload,omitempty"`
	// Need is what the reader needs of a database, nil if the file does not ask.
	Need *workload.Need `json:"need,omitempty"`
	// AgentCerts is the folder of control's certificate for agents; "" if the file names
	// none.
	AgentCerts string `json:"agent_certs,omitempty"`
	// Capacity is nil if no capacity is searched for.
	Capacity *workload.Capacity `json:"capacity,omitempty"`
	// Abilities are what the abilities of the program do for every database. In JSON each is
	// a key of the experiment.
	Abilities ability.Values `json:"-"`
	// Export holds the paths that control copies result files to, by their names in a
	// tag's folder ("client-system-metrics.csv"). They have no tag: [Experiment.ExportOf]
	// returns those of one database.
	Export map[string]string `json:"export,omitempty"`
	// Inputs holds the classic files that analyze reads instead of a result folder, by
	// tag.
	Inputs map[string]Inputs `json:"inputs,omitempty"`
	// Report is where analyze writes for a classic file; zero for compact ones.
	Report Report `json:"report,omitzero"`

	// places holds the place of every value that the file gives, by path.
	places map[string]string
	// several is whether the file has several databases, of which [Experiment.Select] may
	// have left one.
	several bool
	// origins are the ids of databases as the file gives them, by those of the points of
	// a sweep.
	origins map[string]string
}

// ExportOf returns the paths that control copies result files of a database to, by their
// names in its folder. If the file has several databases, each has its tag in the name
// of a file (TAG-client-system-metrics.csv), so that none overwrites another's.
func (e *Experiment) ExportOf(tag string) map[string]string {
	paths := maps.Clone(e.Export)
	for name, path := range paths {
		if e.several {
			paths[name] = filepath.Join(filepath.Dir(path), tag+"-"+filepath.Base(path))
		}
	}
	return paths
}

// Place returns where the file gives the value of a key, as file:line:col. The path
// is made of the compact keys: load.rate, databases.ID.steps.upload. Values of a
// classic file have the paths of the keys they are read into. Place returns "" if
// the file does not give the value, or gives it inside a list.
func (e *Experiment) Place(path string) string { return e.places[path] }

// DatabasePlace returns the place of a key of a database, as [Experiment.Place] does. Points
// of a sweep have the places of the database that the file gives.
func (e *Experiment) DatabasePlace(db *Database, key string) string {
	for _, id := range []string{db.ID, e.origins[db.ID]} {
		if place := e.Place("databases." + id + "." + key); place != "" {
			return place
		}
	}
	return ""
}

// EndpointHosts are the different hosts of a cluster that runs without agents.
func (d *Database) EndpointHosts() (hosts []string) {
	for _, e := range d.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// ByGenerators reports whether generators issue the loads: control does otherwise.
func (e *Experiment) ByGenerators() bool { return len(e.Generators) > 0 }

// GeneratorAgents are the addresses of the generators' agents.
func (e *Experiment) GeneratorAgents() (addrs []string) {
	for _, g := range e.Generators {
		addrs = append(addrs, g.Agent())
	}
	return addrs
}

// Select keeps only the database with that id, or all points of its sweep.
func (e *Experiment) Select(id string) error {
	var ids []string
	var chosen []Database
	for _, d := range e.Databases {
		if d.ID == id || e.origins[d.ID] == id {
			chosen = append(chosen, d)
		}
		ids = append(ids, d.ID)
	}
	if len(chosen) > 0 {
		e.Databases = chosen
		return nil
	}
	return fmt.Errorf("unknown database id %q%s", id, yamlfile.Hint(id, ids))
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
	// UseVersion is the release that runs in place of Version; "" for none. No file gives
	// it.
	UseVersion string `json:"use_version,omitempty"`
	Install    bool   `json:"install,omitempty"`
	// Binary is another executable for the driver's first tool; "" the default.
	Binary string `json:"binary,omitempty"`
	Hosts  []Host `json:"hosts"`
	// Endpoints are client addresses of a cluster that already runs; Hosts may then
	// be empty.
	Endpoints []string `json:"endpoints,omitempty"`
	// Prefix is the name below which all keys lie on the cluster of Endpoints; "" is
	// DefaultPrefix. Cleanup means that they are removed after the load.
	Prefix string `json:"prefix,omitempty"`
	// Reuse means that keys of others may lie below the prefix.
	Reuse   bool `json:"reuse,omitempty"`
	Cleanup bool `json:"cleanup,omitempty"`
	// Abilities are what the abilities of the program do for it. In JSON each is a key of
	// the database.
	Abilities ability.Values `json:"-"`
	// TLS is nil for plaintext, Auth for clients that show no credentials.
	TLS  *TLS  `json:"tls,omitempty"`
	Auth *Auth `json:"auth,omitempty"`
	// Defaults is where options come from that the file does not give: [DefaultsUpstream]
	// is the release that the file names, "" is dbtester.
	Defaults string `json:"defaults,omitempty"`
	// Options is the driver's options struct, decoded over its defaults: the value
	// that Catalog gave.
	Options any `json:"options,omitempty"`
	// OptionsYAML is Options encoded again, every default filled in, as it
	// is sent to agents. It is nil if the database has no options.
	OptionsYAML []byte        `json:"-"`
	Load        workload.Load `json:"load"`
	// Swept is the part of a sweep that the database is, nil without one.
	Swept *workload.Swept `json:"swept,omitempty"`
	// Steps overlays the experiment's (classic files give steps per database).
	Steps Steps `json:"steps"`
}

// Host is a database machine.
type Host struct {
	// Addr is an IP address or a host name. Where DNS is set, it is that name until control
	// has looked it up.
	Addr string `json:"addr"`
	// AgentPort is where its agent listens.
	AgentPort int `json:"agent_port"`
	// Ports are all ports of the database on this host, by role ("client", "peer").
	Ports map[string]int `json:"ports,omitempty"`
	// DNS is the name whose addresses are looked up when a run starts, "" for an Addr that
	// stays. The mentions of a name stand for its addresses in their order.
	DNS string `json:"dns,omitempty"`
}

// Agent is the address of the host's agent: by its name, if it alone has that name.
func (h Host) Agent() string {
	return net.JoinHostPort(cmp.Or(h.DNS, h.Addr), strconv.Itoa(h.AgentPort))
}

// Plot asks for a figure of one column over time.
type Plot struct {
	Column string `json:"column"`
	XAxis  string `json:"x_axis"`
	YAxis  string `json:"y_axis"`
}

// Upload is the destination of result folders.
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
	// Outputs maps names of the files that analyze writes for one database to paths
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
