package config

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// classicInputs is one database's entry for analyze.
type classicInputs struct {
	id             *yaml.Node
	prefix         string
	files, outputs map[string]string
	servers        []string
}

func (r *reader) classicInputs(key string, node *yaml.Node) ([]classicInputs, bool) {
	var list []classicInputs
	for _, p := range r.pairs(key, node) {
		if _, ok := r.entry(p.key); !ok {
			continue
		}
		in := classicInputs{id: p.key, files: map[string]string{}, outputs: map[string]string{}}
		var prefix given[string]
		var servers given[[]string]
		known := keys{
			"path_prefix": into(&prefix, r.text),
			"server_system_metrics_interpolated_path_list": into(&servers, r.texts),
		}
		for path, name := range inputNames() {
			known[path] = r.entryPath(in.files, name)
		}
		for path, name := range outputNames() {
			known[path] = r.entryPath(in.outputs, name)
		}
		for _, ignored := range []string{"database_id", "database_tag", "database_description"} {
			known[ignored] = r.overwritten(p.key)
		}
		r.fields(p.key.Value, p.value, known)
		in.prefix, in.servers = strings.TrimSpace(prefix.is), servers.is
		list = append(list, in)
	}
	return list, true
}

func (r *reader) entryPath(paths map[string]string, name string) func(string, *yaml.Node) {
	return func(key string, node *yaml.Node) {
		var path string
		r.optional(&path)(key, node)
		if path != "" {
			paths[name] = path
		}
	}
}

// inputNames are the files that analyze reads, by the key of their path.
func inputNames() map[string]string {
	names := exportNames()
	delete(names, "client_system_metrics_path")
	return names
}

// outputNames are the files that analyze writes for one database.
func outputNames() map[string]string {
	return map[string]string{
		"server_memory_by_key_number_path":            "server-memory-by-key-number.csv",
		"server_read_bytes_delta_by_key_number_path":  "server-read-bytes-delta-by-key-number.csv",
		"server_write_bytes_delta_by_key_number_path": "server-write-bytes-delta-by-key-number.csv",
		"all_aggregated_output_path":                  "all-aggregated.csv",
	}
}

// inputsByTag gives every database's files to its tag.
func (r *reader) inputsByTag(c classicFile) given[map[string]Inputs] {
	if len(c.inputs.is) == 0 {
		return given[map[string]Inputs]{}
	}
	all := map[string]Inputs{}
	for _, in := range c.inputs.is {
		known := false
		for _, d := range c.databases.is {
			if d.id == in.id.Value {
				all[d.tag.is] = in.joined()
				known = true
			}
		}
		if !known {
			r.errorf(in.id, "%q has no entry in %s", in.id.Value, classicControlKey)
		}
	}
	return given[map[string]Inputs]{is: all, key: classicAnalyzeKey, at: c.inputs.at}
}

// joined puts the prefix before every path, with a dash: the uploaded files of
// one test lie in one folder, named TAG-FILE.
func (in classicInputs) joined() Inputs {
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

func (r *reader) classicTables(key string, node *yaml.Node, report *Report) {
	r.fields(key, node, keys{
		"all_aggregated_output_path_csv": r.optional(&report.TableCSV),
		"all_aggregated_output_path_txt": r.optional(&report.TableTXT),
	})
	// Whatever its extension, the classic tool wrote the text table to .txt.
	if report.TableTXT != "" {
		report.TableTXT = strings.TrimSuffix(report.TableTXT, filepath.Ext(report.TableTXT)) + ".txt"
	}
}

func (r *reader) classicPlots(key string, node *yaml.Node) ([]Plot, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	plots := []Plot{}
	for _, item := range items {
		var column, x, y given[string]
		ignored := func(k string, n *yaml.Node) {
			r.warnf(n, "%s is ignored: plots are named after their column", k)
		}
		r.fields("plot", item, keys{
			"column":           into(&column, r.text),
			"x_axis":           into(&x, r.text),
			"y_axis":           into(&y, r.text),
			"output_path_csv":  ignored,
			"output_path_list": ignored,
		})
		if !column.set() {
			r.errorf(item, "plot: column is missing")
			continue
		}
		plots = append(plots, r.plot(column, x, y))
	}
	return plots, true
}

func (r *reader) classicReadme(key string, node *yaml.Node, report *Report) {
	r.fields(key, node, keys{
		"output_path": r.optional(&report.README),
		"images": func(k string, n *yaml.Node) {
			report.Images, _ = r.images(k, n)
		},
	})
}
