package config

import "go.yaml.in/yaml/v4"

// paths reads a mapping of logical file names to paths.
func (r *reader) paths(key string, node *yaml.Node) (map[string]string, bool) {
	paths := map[string]string{}
	for _, p := range r.pairs(key, node) {
		if s, ok := r.text(p.key.Value, p.value); ok {
			paths[p.key.Value] = s
		}
	}
	return paths, true
}

// inputs reads the files that analyze opens instead of a result folder, by tag.
func (r *reader) inputs(key string, node *yaml.Node) (map[string]Inputs, bool) {
	all := map[string]Inputs{}
	for _, p := range r.pairs(key, node) {
		var files, outputs given[map[string]string]
		var servers given[[]string]
		r.fields(p.key.Value, p.value, keys{
			"files":   into(&files, r.paths),
			"servers": into(&servers, r.texts),
			"outputs": into(&outputs, r.paths),
		})
		all[p.key.Value] = Inputs{Files: files.is, Servers: servers.is, Outputs: outputs.is}
	}
	return all, true
}

// report reads where analyze writes besides the result folder.
func (r *reader) report(key string, node *yaml.Node) (Report, bool) {
	var csv, txt, plots, readme given[string]
	var images given[[]Image]
	r.fields(key, node, keys{
		"table_csv": into(&csv, r.text),
		"table_txt": into(&txt, r.text),
		"plot_dir":  into(&plots, r.text),
		"readme":    into(&readme, r.text),
		"images":    into(&images, r.images),
	})
	return Report{TableCSV: csv.is, TableTXT: txt.is, PlotDir: plots.is, README: readme.is, Images: images.is}, true
}

func (r *reader) images(key string, node *yaml.Node) ([]Image, bool) {
	items, ok := r.items(key, node)
	if !ok {
		return nil, false
	}
	var list []Image
	for _, item := range items {
		var title, path, kind given[string]
		r.fields("image", item, keys{
			"title": into(&title, r.text),
			"path":  into(&path, r.text),
			"type":  into(&kind, r.oneOf("local", "remote")),
		})
		if !path.set() {
			r.errorf(item, "image: path is missing")
		}
		list = append(list, Image{Title: title.is, Path: path.is, Type: kind.or("local")})
	}
	return list, true
}
