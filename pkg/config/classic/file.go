package classic

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

func (r *reader) top(w *written) yamlfile.Keys {
	return yamlfile.Keys{
		"test_title":                    yamlfile.Into(r.Reader, &w.file.Title, yamlfile.Prose),
		"test_description":              yamlfile.Into(r.Reader, &w.file.Description, yamlfile.Prose),
		"config_client_machine_initial": func(k string, n *yamlfile.Node) { r.client(k, n, &w.client) },
		"all_database_id_list":          yamlfile.Into(r.Reader, &w.ids, (*yamlfile.Reader).Items),
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

// inOrder returns the databases in the order in all_database_id_list.
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
