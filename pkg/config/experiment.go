// Package config reads an experiment file: compact or classic, strictly, with
// every default filled in and every problem reported at its line and column. It knows no database:
// driver options are decoded into structs from a [Catalog].
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

// Experiment is an experiment file in the compact or the classic schema, with every default filled
// in.
type Experiment struct {
	// Path is the file from which it was read, "" for a built-in one.
	Path string `json:"path,omitempty"`
	// Classic is set if the file has the classic schema.
	Classic     bool   `json:"classic,omitempty"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Seed determines keys and values; it is not 0.
	Seed uint64 `json:"seed"`
	// Trials is the number of runs, each on fresh data directories. The database order rotates from
	// run to run. Settle is the pause between runs.
	Trials int           `json:"trials"`
	Settle time.Duration `json:"settle_ns"`
	// Sample is the time between two samples on a machine. Metrics means that agents, or control
	// without agents, read member metrics.
	Sample  time.Duration `json:"sample_ns"`
	Metrics bool          `json:"metrics"`
	// Results is the folder for result folders.
	Results   string     `json:"results"`
	Steps     Steps      `json:"steps"`
	Databases []Database `json:"databases"` // in file order
	// Generators are machines whose agents each issue a part of the load; empty if control issues
	// it.
	Generators []Host  `json:"generators,omitempty"`
	Plots      []Plot  `json:"plots,omitempty"`
	Upload     *Upload `json:"upload,omitempty"`
	// Need is what the reader needs from a database, nil if the file does not say.
	Need *workload.Need `json:"need,omitempty"`
	// AgentCerts is the folder that holds control's certificate for agents; "" if the file names no
	// folder.
	AgentCerts string `json:"agent_certs,omitempty"`
	// Abilities are ability values for every database. In JSON each is a key in the experiment.
	Abilities ability.Values `json:"-"`
	// Export holds the paths to which control copies result files, by their names in a tag folder
	// ("client-system-metrics.csv"). They have no tag: [Experiment.ExportOf] returns the paths for
	// one database.
	Export map[string]string `json:"export,omitempty"`
	// Inputs holds the classic files that analyze reads instead of a result folder, by
	// tag.
	Inputs map[string]Inputs `json:"inputs,omitempty"`
	// Report is where analyze writes for a classic file; zero for compact ones.
	Report Report `json:"report,omitzero"`

	// places says where the file gives each value, by path.
	places map[string]string
	// several means that the file has several databases, even if [Experiment.Select] kept
	// only one.
	several bool
	// origins maps point ids in a sweep to database ids in the file.
	origins map[string]string
}

// ExportOf returns the paths to which control copies a database's result files, by their names in
// its folder. If the file has several databases, the file names contain the tag
// (TAG-client-system-metrics.csv), so no database overwrites another's files.
func (e *Experiment) ExportOf(tag string) map[string]string {
	paths := maps.Clone(e.Export)
	for name, path := range paths {
		if e.several {
			paths[name] = filepath.Join(filepath.Dir(path), tag+"-"+filepath.Base(path))
		}
	}
	return paths
}

// Place returns where the file gives a value, as file:line:col. The path consists of the compact
// keys: load.rate, databases.ID.steps.upload. Values in a classic file have the corresponding
// compact paths. Place returns "" if the file does not give the value, or gives it inside a list.
func (e *Experiment) Place(path string) string { return e.places[path] }

// DatabasePlace returns where a key in a database is, as [Experiment.Place] does. Points in a sweep
// share the places of their database in the file.
func (e *Experiment) DatabasePlace(db *Database, key string) string {
	for _, id := range []string{db.ID, e.origins[db.ID]} {
		if place := e.Place("databases." + id + "." + key); place != "" {
			return place
		}
	}
	return ""
}

// EndpointHosts returns the distinct hosts in a cluster that runs without agents.
func (d *Database) EndpointHosts() (hosts []string) {
	for _, e := range d.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err == nil && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// ByGenerators reports whether generators, rather than control, issue the loads.
func (e *Experiment) ByGenerators() bool { return len(e.Generators) > 0 }

// GeneratorAgents returns the addresses of the generators' agents.
func (e *Experiment) GeneratorAgents() (addrs []string) {
	for _, g := range e.Generators {
		addrs = append(addrs, g.Agent())
	}
	return addrs
}

// Select keeps only the database with that id, or all its points in a sweep.
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

// Database is one database in an experiment: one column in its table.
type Database struct {
	// ID is the key in the file: NAME or NAME__LABEL.
	ID    string `json:"id"`
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
	// Tag names the folder and the column; it is unique in the file. By default it is NAME-VERSION
	// or NAME-LABEL; in a classic file it is made from the description by the classic rule.
	Tag         string `json:"tag"`
	Description string `json:"description,omitempty"`
	// Version is the release to run, such as "v3.6.16"; "" leaves it to the driver.
	Version string `json:"version,omitempty"`
	// UseVersion is the release that runs instead of Version if it is not "". No file gives it.
	UseVersion string `json:"use_version,omitempty"`
	Install    bool   `json:"install,omitempty"`
	// Binary is another executable for the driver's first tool; "" means the default.
	Binary string `json:"binary,omitempty"`
	Hosts  []Host `json:"hosts"`
	// Endpoints are client addresses for a cluster that already runs; Hosts may then be empty.
	Endpoints []string `json:"endpoints,omitempty"`
	// Prefix is the name below which all keys lie on the cluster of Endpoints; "" means
	// DefaultPrefix. Cleanup means that the keys are removed after the load.
	Prefix string `json:"prefix,omitempty"`
	// Reuse means that others may have keys below the prefix.
	Reuse   bool `json:"reuse,omitempty"`
	Cleanup bool `json:"cleanup,omitempty"`
	// Abilities are ability values for the database. In JSON each is a key in the database.
	Abilities ability.Values `json:"-"`
	// TLS is nil for plaintext, Auth for clients without credentials.
	TLS  *TLS  `json:"tls,omitempty"`
	Auth *Auth `json:"auth,omitempty"`
	// Defaults says where options come from that the file does not give: [DefaultsUpstream] means
	// the release that the file names, "" means dbtester.
	Defaults string `json:"defaults,omitempty"`
	// Options is the options struct from the Catalog, decoded over its defaults.
	Options any `json:"options,omitempty"`
	// OptionsYAML is Options encoded again, every default filled in, as sent to agents. It is nil
	// if the database has no options.
	OptionsYAML []byte        `json:"-"`
	Load        workload.Load `json:"load"`
	// Swept is the part in a sweep, nil without one.
	Swept *workload.Swept `json:"swept,omitempty"`
	// Steps overlays the experiment's steps (classic files give steps per database).
	Steps Steps `json:"steps"`
}

// Host is a database machine.
type Host struct {
	// Addr is an IP address or a host name. If DNS is set, it is that name until control
	// has resolved it.
	Addr string `json:"addr"`
	// AgentPort is the port on which its agent listens.
	AgentPort int `json:"agent_port"`
	// Ports are all database ports on this host, by role ("client", "peer").
	Ports map[string]int `json:"ports,omitempty"`
	// DNS is a name that is resolved when a run starts, "" for a fixed Addr. If several
	// hosts have the same name, they stand for its addresses in order.
	DNS string `json:"dns,omitempty"`
}

// Agent returns the agent address on the host: by name, if no other host has that name.
func (h Host) Agent() string {
	return net.JoinHostPort(cmp.Or(h.DNS, h.Addr), strconv.Itoa(h.AgentPort))
}

// Plot requests a figure that shows one column over time.
type Plot struct {
	Column string `json:"column"`
	XAxis  string `json:"x_axis"`
	YAxis  string `json:"y_axis"`
}

// Upload says where result folders are uploaded.
type Upload struct {
	// URL is a bucket: gs://bucket/prefix, s3://bucket/prefix, file:///dir.
	URL string `json:"url"`
	// KeyFile contains the credentials; it is read only if an upload is requested.
	KeyFile string `json:"key_file,omitempty"`
	Project string `json:"project,omitempty"`
}

// Inputs are one database's classic files, as paths.
type Inputs struct {
	// Files maps names in a tag folder to paths.
	Files map[string]string `json:"files"`
	// Servers are the interpolated samples, one per server, in order.
	Servers []string `json:"servers"`
	// Outputs maps the names of files that analyze writes for one database to paths
	// ("all-aggregated.csv", "server-memory-by-key-number.csv").
	Outputs map[string]string `json:"outputs,omitempty"`
}

// Report is where analyze writes the outputs for a classic file.
type Report struct {
	TableCSV string  `json:"table_csv,omitempty"`
	TableTXT string  `json:"table_txt,omitempty"`
	PlotDir  string  `json:"plot_dir,omitempty"`
	README   string  `json:"readme,omitempty"`
	Images   []Image `json:"images,omitempty"`
}

// Image is one picture in a classic README; Type is local or remote.
type Image struct {
	Title string `json:"title"`
	Path  string `json:"path"`
	Type  string `json:"type"`
}

// TLS names the PEM files for encrypted connections. Paths are as in the experiment file, relative
// to the working directory like its other paths. For a cluster that agents start they are absolute,
// and the files exist on the client and on every member machine: members serve with the certificate
// that clients present.
type TLS struct {
	// CA signs member certificates; "" trusts the system's CAs.
	CA string `json:"ca,omitempty"`
	// Cert and Key are the client certificate; "" if clients present no certificate.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Auth names the user for clients and where the password is. It never contains the password itself:
// an experiment is shown, recorded and shared. One of PasswordFile and PasswordEnv is set, and is
// read when a run starts.
type Auth struct {
	User string `json:"user,omitempty"`
	// PasswordFile contains the password; a trailing newline does not count.
	PasswordFile string `json:"password_file,omitempty"`
	// PasswordEnv names the variable in control's environment that holds the password.
	PasswordEnv string `json:"password_env,omitempty"`
}
