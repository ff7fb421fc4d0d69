package classic

import (
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

func (r *reader) inputs(key string, node *yamlfile.Node) []inputs {
	var list []inputs
	for _, p := range r.Pairs(key, node) {
		if _, ok := r.lookup(r.Reader, p.Key); !ok {
			continue
		}
		in := inputs{id: p.Key, files: map[string]string{}, outputs: map[string]string{}}
		var prefix yamlfile.Given[string]
		var servers yamlfile.Given[[]string]
		known := yamlfile.Keys{
			"path_prefix": yamlfile.Into(r.Reader, &prefix, yamlfile.Text),
			"server_system_metrics_interpolated_path_list": yamlfile.Into(r.Reader, &servers, yamlfile.List(yamlfile.Text)),
		}
		for path, name := range inputNames() {
			known[path] = r.entryPath(in.files, name)
		}
		for path, name := range outputNames() {
			known[path] = r.entryPath(in.outputs, name)
		}
		for _, ignored := range []string{"database_id", "database_tag", "database_description"} {
			known[ignored] = r.overwritten(p.Key)
		}
		r.Fields(p.Key.Value, p.Value, known)
		in.prefix, in.servers = strings.TrimSpace(prefix.Is), servers.Is
		list = append(list, in)
	}
	return list
}

// inputNames returns the files that analyze reads, by the key for the path.
func inputNames() map[string]string {
	names := exportNames()
	delete(names, "client_system_metrics_path")
	return names
}

// outputNames returns the files that analyze writes for one database, by the key for the path.
func outputNames() map[string]string {
	return map[string]string{
		"server_memory_by_key_number_path":            "server-memory-by-key-number.csv",
		"server_read_bytes_delta_by_key_number_path":  "server-read-bytes-delta-by-key-number.csv",
		"server_write_bytes_delta_by_key_number_path": "server-write-bytes-delta-by-key-number.csv",
		"all_aggregated_output_path":                  "all-aggregated.csv",
	}
}

// inputsByID returns the files for every database that control knows too.
func (r *reader) inputsByID(w written) map[string]Inputs {
	if len(w.inputs) == 0 {
		return nil
	}
	all := map[string]Inputs{}
	for _, in := range w.inputs {
		known := false
		for _, d := range w.databases.Is {
			known = known || d.ID == in.id.Value
		}
		if !known {
			r.Errorf(in.id, "%q has no entry in %s", in.id.Value, ControlKey)
			continue
		}
		all[in.id.Value] = in.joined()
	}
	return all
}

// joined puts the prefix and a dash before every path: uploaded files from one test lie in one
// folder as TAG-FILE.
func (in inputs) joined() Inputs {
	join := func(path string) string {
		if in.prefix == "" {
			return path
		}
		return in.prefix + "-" + path
	}
	for name, path := range in.files {
		in.files[name] = join(path)
	}
	for name, path := range in.outputs {
		in.outputs[name] = join(path)
	}
	var servers []string
	for _, path := range in.servers {
		servers = append(servers, join(path))
	}
	return Inputs{Files: in.files, Servers: servers, Outputs: in.outputs}
}

func (r *reader) tables(key string, node *yamlfile.Node, report *Report) {
	r.Fields(key, node, yamlfile.Keys{
		"all_aggregated_output_path_csv": r.optional(&report.TableCSV),
		"all_aggregated_output_path_txt": r.optional(&report.TableTXT),
	})
	// The classic tool replaced any extension by .txt.
	if report.TableTXT != "" {
		report.TableTXT = strings.TrimSuffix(report.TableTXT, filepath.Ext(report.TableTXT)) + ".txt"
	}
}

func plots(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]Plot, bool) {
	items, ok := r.Items(key, node)
	if !ok {
		return nil, false
	}
	list := []Plot{}
	for _, item := range items {
		var p Plot
		ignored := func(k string, n *yamlfile.Node) {
			r.Warnf(n, "%s is ignored: plots are named after their column", k)
		}
		r.Fields("plot", item, yamlfile.Keys{
			"column":           yamlfile.Into(r, &p.Column, yamlfile.Text),
			"x_axis":           yamlfile.Into(r, &p.X, yamlfile.Text),
			"y_axis":           yamlfile.Into(r, &p.Y, yamlfile.Text),
			"output_path_csv":  ignored,
			"output_path_list": ignored,
		})
		if !p.Column.Set() {
			r.Errorf(item, "plot: column is missing")
			continue
		}
		list = append(list, p)
	}
	return list, true
}

func (r *reader) readme(key string, node *yamlfile.Node, report *Report) {
	r.Fields(key, node, yamlfile.Keys{
		"output_path": r.optional(&report.README),
		"images":      func(k string, n *yamlfile.Node) { report.Images = r.images(k, n) },
	})
}

func (r *reader) images(key string, node *yamlfile.Node) []Image {
	items, _ := r.Items(key, node)
	var list []Image
	for _, item := range items {
		var title, path, kind yamlfile.Given[string]
		r.Fields("image", item, yamlfile.Keys{
			"title": yamlfile.Into(r.Reader, &title, yamlfile.Text),
			"path":  yamlfile.Into(r.Reader, &path, yamlfile.Text),
			"type":  yamlfile.Into(r.Reader, &kind, yamlfile.OneOf("local", "remote")),
		})
		if !path.Set() {
			r.Errorf(item, "image: path is missing")
		}
		list = append(list, Image{title.Is, path.Is, kind.Or("local")})
	}
	return list
}
