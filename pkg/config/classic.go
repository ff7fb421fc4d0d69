package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The two keys whose spelling is part of the classic schema.
const (
	classicControlKey = "datatbase_id_to_config_client_machine_agent_control"
	classicAnalyzeKey = "datatbase_id_to_config_analyze_machine_initial"
)

// classicFile is a file of the classic schema as it was written.
type classicFile struct {
	title, description given[string]
	client             classicClient
	ids                given[[]*yaml.Node]
	databases          given[[]*databaseSpec]
	inputs             given[[]classicInputs]
	plots              given[[]Plot]
	report             Report
}

// classicClient is config_client_machine_initial.
type classicClient struct {
	prefix, project, folder string
	paths                   map[string]string // by logical file name
	keyFile, bucket         given[string]
}

func (r *reader) classicKeys(f *classicFile) keys {
	return keys{
		"test_title":                    into(&f.title, r.text),
		"test_description":              into(&f.description, r.text),
		"config_client_machine_initial": func(k string, n *yaml.Node) { r.classicClient(k, n, &f.client) },
		"all_database_id_list":          into(&f.ids, r.items),
		classicControlKey:               into(&f.databases, r.classicDatabases),
		classicAnalyzeKey:               into(&f.inputs, r.classicInputs),
		"analyze_all_aggregated_output": func(k string, n *yaml.Node) { r.classicTables(k, n, &f.report) },
		"analyze_plot_path_prefix":      r.optional(&f.report.PlotDir),
		"analyze_plot_list":             into(&f.plots, r.classicPlots),
		"analyze_readme":                func(k string, n *yaml.Node) { r.classicReadme(k, n, &f.report) },
	}
}

// emptyText reads a text that may be left empty, as most classic texts may.
func (r *reader) emptyText(key string, node *yaml.Node) (string, bool) {
	if isNull(node) {
		return "", true
	}
	return r.text(key, node)
}

// optional reads a text that may be left empty into s.
func (r *reader) optional(s *string) func(string, *yaml.Node) {
	return func(key string, node *yaml.Node) { *s, _ = r.emptyText(key, node) }
}

// classicSpec reads a file of the classic schema.
func (r *reader) classicSpec(root *yaml.Node) *fileSpec {
	var c classicFile
	r.fields("the file", root, r.classicKeys(&c))
	f := &fileSpec{
		root:        root,
		title:       c.title,
		description: c.description,
		plots:       c.plots,
		uploadKey:   "config_client_machine_initial.google_cloud_storage_bucket_name",
	}
	if !c.databases.set() {
		r.errorf(root, "%s is missing", classicControlKey)
	}
	f.databases = r.classicOrder(c)
	f.steps = anySteps(f.databases.is)
	f.export = given[map[string]string]{is: c.client.export(), at: root}
	f.upload = c.client.upload()
	f.inputs = r.inputsByTag(c)
	f.report = given[Report]{is: c.report, at: root}
	return f
}

// classicOrder puts the databases in the order of all_database_id_list.
func (r *reader) classicOrder(c classicFile) given[[]*databaseSpec] {
	var order []*databaseSpec
	for _, id := range c.ids.is {
		if _, ok := r.text("all_database_id_list", id); !ok {
			continue
		}
		i := slices.IndexFunc(c.databases.is, func(d *databaseSpec) bool { return d.id == id.Value })
		switch {
		case i < 0:
			if _, ok := r.entry(id); ok {
				r.errorf(id, "%q has no entry in %s", id.Value, classicControlKey)
			}
		case slices.Contains(order, c.databases.is[i]):
			r.errorf(id, "%q is listed twice", id.Value)
		default:
			order = append(order, c.databases.is[i])
		}
	}
	for _, d := range c.databases.is {
		if slices.Contains(order, d) {
			continue
		}
		if c.ids.set() {
			r.warnf(d.at, "%q is not in all_database_id_list; it comes last", d.id)
		}
		order = append(order, d)
	}
	return given[[]*databaseSpec]{is: order, key: classicControlKey, at: c.databases.at}
}

// anySteps are the steps that any database takes.
func anySteps(list []*databaseSpec) stepsSpec {
	var all stepsSpec
	for _, d := range list {
		all.start = either(all.start, d.steps.start)
		all.load = either(all.load, d.steps.load)
		all.stop = either(all.stop, d.steps.stop)
		all.upload = either(all.upload, d.steps.upload)
	}
	return all
}

func either(a, b given[bool]) given[bool] {
	if a.is {
		return a
	}
	return b
}

func (r *reader) classicClient(key string, node *yaml.Node, c *classicClient) {
	c.paths = map[string]string{}
	known := keys{
		"path_prefix": r.optional(&c.prefix),
		// The classic control never wrote this file: its output was sent there.
		"log_path":                           func(string, *yaml.Node) {},
		"google_cloud_project_name":          r.optional(&c.project),
		"google_cloud_storage_key_path":      into(&c.keyFile, r.emptyText),
		"google_cloud_storage_bucket_name":   into(&c.bucket, r.emptyText),
		"google_cloud_storage_sub_directory": r.optional(&c.folder),
	}
	for path, name := range exportNames() {
		known[path] = r.entryPath(c.paths, name)
	}
	r.fields(key, node, known)
}

// exportNames are the files of a result folder that a classic file names a path
// for, by its key.
func exportNames() map[string]string {
	return map[string]string{
		"client_system_metrics_path":                  "client-system-metrics.csv",
		"client_system_metrics_interpolated_path":     "client-system-metrics-interpolated.csv",
		"client_latency_throughput_timeseries_path":   "client-latency-throughput-timeseries.csv",
		"client_latency_distribution_all_path":        "client-latency-distribution-all.csv",
		"client_latency_distribution_percentile_path": "client-latency-distribution-percentile.csv",
		"client_latency_distribution_summary_path":    "client-latency-distribution-summary.csv",
		"client_latency_by_key_number_path":           "client-latency-by-key-number.csv",
		"server_disk_space_usage_summary_path":        "server-disk-space-usage-summary.csv",
	}
}

// export joins the prefix to every path.
func (c classicClient) export() map[string]string {
	if len(c.paths) == 0 {
		return nil
	}
	for name, path := range c.paths {
		if c.prefix != "" {
			c.paths[name] = filepath.Join(c.prefix, path)
		}
	}
	return c.paths
}

func (c classicClient) upload() uploadSpec {
	if c.bucket.is == "" {
		return uploadSpec{}
	}
	url := c.bucket
	url.is = "gs://" + strings.TrimSuffix(c.bucket.is+"/"+strings.Trim(c.folder, "/"), "/")
	u := uploadSpec{at: c.bucket.at, url: url}
	u.project.is = c.project
	if c.keyFile.is != "" {
		u.keyFile = c.keyFile
	}
	return u
}

func (r *reader) classicDatabases(key string, node *yaml.Node) ([]*databaseSpec, bool) {
	var list []*databaseSpec
	for _, p := range r.pairs(key, node) {
		if entry, ok := r.entry(p.key); ok {
			list = append(list, r.classicDatabase(p, entry))
		}
	}
	return list, true
}

// classicDatabase reads one database's entry for control.
func (r *reader) classicDatabase(p pair, entry Entry) *databaseSpec {
	d := &databaseSpec{id: p.key.Value, at: p.key, entry: entry}
	if entry.Options != nil {
		d.options = entry.Options()
	}
	var peers given[[]string]
	var agentPort, databasePort given[int]
	var options, steps *yaml.Node
	known := keys{
		"database_description":     into(&d.description, r.text),
		"peer_ips":                 into(&peers, r.texts),
		"agent_port_to_connect":    into(&agentPort, r.classicPort),
		"database_port_to_connect": into(&databasePort, r.classicPort),
		"benchmark_options":        func(_ string, n *yaml.Node) { options = n },
		"benchmark_steps":          func(_ string, n *yaml.Node) { steps = n },
		d.id:                       func(k string, n *yaml.Node) { r.classicFlags(k, n, reflect.ValueOf(d.options)) },
	}
	for _, ignored := range []string{"database_id", "database_tag", "peer_ips_string", "agent_endpoints", "database_endpoints"} {
		known[ignored] = r.overwritten(p.key)
	}
	r.fields(d.id, p.value, known)
	d.hosts = r.classicHosts(peers, agentPort, databasePort)
	r.classicName(d)
	r.classicLoad(d, options, steps)
	return d
}

// overwritten returns a reader of a key whose value the classic tool replaced.
func (r *reader) overwritten(key *yaml.Node) func(string, *yaml.Node) {
	return func(name string, node *yaml.Node) {
		r.warnf(node, "%s of %s is ignored: it follows from other keys", name, key.Value)
	}
}

// classicPort is a port, or 0 for the default.
func (r *reader) classicPort(key string, node *yaml.Node) (int, bool) {
	if node.Value == "0" {
		return 0, false
	}
	return r.port(key, node)
}

func (r *reader) classicHosts(peers given[[]string], agentPort, databasePort given[int]) given[[]hostSpec] {
	hosts := given[[]hostSpec]{key: peers.key, at: peers.at}
	if !peers.set() {
		return hosts
	}
	items, _ := r.items(peers.key, peers.at)
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || isNull(item) || !r.address(peers.key, item, item.Value) {
			continue
		}
		h := hostSpec{addr: item.Value, at: item, agentPort: agentPort}
		if databasePort.set() {
			h.ports = []given[int]{{databasePort.is, "client", databasePort.at}}
		}
		hosts.is = append(hosts.is, h)
	}
	return hosts
}

// classicName makes a database's tag and version of its description.
func (r *reader) classicName(d *databaseSpec) {
	if strings.TrimSpace(d.description.is) == "" {
		r.errorf(d.at, "%s: database_description is missing; the tag is made of it", d.id)
		// The id stands in, so that nothing else is reported because of it.
		d.tag = given[string]{d.id, "", d.at}
		return
	}
	d.tag = given[string]{classicTag(d.description.is), d.description.key, d.description.at}
	_, label, _ := strings.Cut(d.id, "__")
	if version := classicVersion(d.description.is, label); version != "" {
		d.version = given[string]{version, d.description.key, d.description.at}
	}
}
