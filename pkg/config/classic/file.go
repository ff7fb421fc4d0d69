package classic

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// reader reads the sections of one file.
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

func (r *reader) top(w *written) yamlfile.Keys {
	return yamlfile.Keys{
		"test_title":                    yamlfile.Into(r.Reader, &w.file.Title, yamlfile.Prose),
		"test_description":              yamlfile.Into(r.Reader, &w.file.Description, yamlfile.Prose),
		"config_client_machine_initial": func(k string, n *yamlfile.Node) { r.client(k, n, &w.client) },
		"all_database_id_list":          yamlfile.Into(r.Reader, &w.ids, items),
		ControlKey: func(k string, n *yamlfile.Node) {
			w.databases = yamlfile.Given[[]*Database]{Is: r.databases(k, n), Key: k, At: n}
		},
		AnalyzeKey:                      func(k string, n *yamlfile.Node) { w.inputs = r.inputs(k, n) },
		"analyze_all_aggregated_output": func(k string, n *yamlfile.Node) { r.tables(k, n, &w.file.Report) },
		"analyze_plot_path_prefix":      r.optional(&w.file.Report.PlotDir),
		"analyze_plot_list":             yamlfile.Into(r.Reader, &w.file.Plots, plots),
		"analyze_readme":                func(k string, n *yamlfile.Node) { r.readme(k, n, &w.file.Report) },
	}
}

func (r *reader) file(root *yamlfile.Node) *File {
	var w written
	r.Fields("the file", root, r.top(&w))
	f := &w.file
	if !w.databases.Set() {
		r.Errorf(root, "%s is missing", ControlKey)
	}
	f.Databases, f.At = r.inOrder(w), w.databases.At
	f.Export = w.client.export()
	f.Upload = w.client.upload()
	f.Inputs = r.inputsByID(w)
	return f
}

// inOrder returns the databases in the order of all_database_id_list.
func (r *reader) inOrder(w written) []*Database {
	var order []*Database
	for _, id := range w.ids.Is {
		if _, ok := yamlfile.Text(r.Reader, "all_database_id_list", id); !ok {
			continue
		}
		i := slices.IndexFunc(w.databases.Is, func(d *Database) bool { return d.ID == id.Value })
		switch {
		case i < 0:
			if _, ok := r.lookup(r.Reader, id); ok {
				r.Errorf(id, "%q has no entry in %s", id.Value, ControlKey)
			}
		case slices.Contains(order, w.databases.Is[i]):
			r.Errorf(id, "%q is listed twice", id.Value)
		default:
			order = append(order, w.databases.Is[i])
		}
	}
	for _, d := range w.databases.Is {
		if slices.Contains(order, d) {
			continue
		}
		if w.ids.Set() {
			r.Warnf(d.At, "%q is not in all_database_id_list; it comes last", d.ID)
		}
		order = append(order, d)
	}
	return order
}

// client is config_client_machine_initial.
type client struct {
	prefix, project, folder string
	paths                   map[string]string // by the name of the result file
	keyFile, bucket         yamlfile.Given[string]
}

func (r *reader) client(key string, node *yamlfile.Node, c *client) {
	c.paths = map[string]string{}
	known := yamlfile.Keys{
		"path_prefix": r.optional(&c.prefix),
		// The classic control never wrote this file.
		"log_path":                           func(string, *yamlfile.Node) {},
		"google_cloud_project_name":          r.optional(&c.project),
		"google_cloud_storage_key_path":      yamlfile.Into(r.Reader, &c.keyFile, emptyText),
		"google_cloud_storage_bucket_name":   yamlfile.Into(r.Reader, &c.bucket, emptyText),
		"google_cloud_storage_sub_directory": r.optional(&c.folder),
	}
	for path, name := range exportNames() {
		known[path] = r.entryPath(c.paths, name)
	}
	r.Fields(key, node, known)
}

// exportNames returns the files of a result folder that a file gives paths for, by
// the key of the path.
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
func (c client) export() map[string]string {
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

func (c client) upload() Upload {
	if c.bucket.Is == "" {
		return Upload{}
	}
	u := Upload{URL: c.bucket, Project: c.project}
	u.URL.Is = strings.TrimSuffix(strings.TrimSuffix(c.bucket.Is, "/")+"/"+strings.Trim(c.folder, "/"), "/")
	if !strings.Contains(u.URL.Is, "://") { // file:///folder and s3://bucket are taken too
		u.URL.Is = "gs://" + u.URL.Is
	}
	if c.keyFile.Is != "" {
		u.KeyFile = c.keyFile
	}
	return u
}

func items(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]*yamlfile.Node, bool) {
	return r.Items(key, node)
}

// emptyText reads text. Most texts of the schema may be left empty.
func emptyText(r *yamlfile.Reader, key string, node *yamlfile.Node) (string, bool) {
	if yamlfile.IsNull(node) {
		return "", true
	}
	return yamlfile.Text(r, key, node)
}

// optional returns a reader of text that may be left empty.
func (r *reader) optional(s *string) func(string, *yamlfile.Node) {
	return func(key string, node *yamlfile.Node) { *s, _ = emptyText(r.Reader, key, node) }
}

// entryPath returns a reader of a path that may be left empty.
func (r *reader) entryPath(paths map[string]string, name string) func(string, *yamlfile.Node) {
	return func(key string, node *yamlfile.Node) {
		if path, _ := emptyText(r.Reader, key, node); path != "" {
			paths[name] = path
		}
	}
}

// overwritten returns a reader of a key whose value the classic tool replaced.
func (r *reader) overwritten(id *yamlfile.Node) func(string, *yamlfile.Node) {
	return func(name string, node *yamlfile.Node) {
		r.Warnf(node, "%s of %s is ignored: it follows from other keys", name, id.Value)
	}
}
