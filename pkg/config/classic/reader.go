package classic

import "github.com/coreos/dbtester/pkg/yamlfile"

// reader reads the sections in one file.
type reader struct {
	*yamlfile.Reader
	lookup Lookup
}

// written is a file before its sections are joined.
type written struct {
	file      File
	client    client
	ids       yamlfile.Given[[]*yamlfile.Node]
	databases yamlfile.Given[[]*Database]
	inputs    []inputs
}

// emptyText reads text. Most texts in the schema may be left empty.
func emptyText(r *yamlfile.Reader, key string, node *yamlfile.Node) (string, bool) {
	if yamlfile.IsNull(node) {
		return "", true
	}
	return yamlfile.Text(r, key, node)
}

// optional returns a function that reads text, which may be empty.
func (r *reader) optional(s *string) func(string, *yamlfile.Node) {
	return func(key string, node *yamlfile.Node) { *s, _ = emptyText(r.Reader, key, node) }
}

// entryPath returns a function that reads a path, which may be empty.
func (r *reader) entryPath(paths map[string]string, name string) func(string, *yamlfile.Node) {
	return func(key string, node *yamlfile.Node) {
		if path, _ := emptyText(r.Reader, key, node); path != "" {
			paths[name] = path
		}
	}
}

// overwritten returns a function that reads a key whose value the classic tool replaced.
func (r *reader) overwritten(id *yamlfile.Node) func(string, *yamlfile.Node) {
	return func(name string, node *yamlfile.Node) {
		r.Warnf(node, "%s of %s is ignored: it follows from other keys", name, id.Value)
	}
}

// client is config_client_machine_initial.
type client struct {
	prefix, project, folder string
	paths                   map[string]string // by the name of the result file
	keyFile, bucket         yamlfile.Given[string]
}

// exportNames returns the result files that a file gives paths for, by the key for the path.
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

// inputs is one database's entry for analyze.
type inputs struct {
	id             *yamlfile.Node
	prefix         string
	files, outputs map[string]string
	servers        []string
}
