package config

import "github.com/coreos/dbtester/pkg/yamlfile"

// stepsSection declares which parts of a run are carried out.
func stepsSection() section[Steps] {
	step := func(name, preset, meaning string, at func(*Steps) *bool) field[Steps] {
		return key[Steps, bool]{Row: row{Name: name, Preset: preset, Meaning: meaning}, Kind: yamlfile.TruthKind(), At: at}.Field()
	}
	return section[Steps]{Fields: []field[Steps]{
		step("start", "true", "members are started", func(s *Steps) *bool { return &s.Start }),
		step("load", "true", "the load is sent", func(s *Steps) *bool { return &s.Load }),
		step("stop", "true", "members are stopped", func(s *Steps) *bool { return &s.Stop }),
		step("upload", "false", "the result folder is copied to `upload`", func(s *Steps) *bool { return &s.Upload }),
	}}
}

// uploadSection declares where result folders are uploaded.
func uploadSection() section[Upload] {
	return section[Upload]{Fields: []field[Upload]{
		key[Upload, string]{
			Row:  row{Name: "url", Usually: "required", Meaning: "a bucket: `gs://bucket/folder`, `s3://bucket/folder` or `file:///folder`"},
			Kind: yamlfile.TextKind(), At: func(u *Upload) *string { return &u.URL },
		}.Field(),
		optionalText("key_file", "file with the credentials", yamlfile.TextKind(), func(u *Upload) *string { return &u.KeyFile }),
		optionalText("project", "the bucket's project", yamlfile.TextKind(), func(u *Upload) *string { return &u.Project }),
	}}
}

// inputsSection declares one database's classic files.
func inputsSection() section[Inputs] {
	return section[Inputs]{Fields: []field[Inputs]{
		key[Inputs, map[string]string]{
			Row:  row{Name: "files", Meaning: "paths by their names in a tag's folder"},
			Kind: yamlfile.TextMapKind(), At: func(i *Inputs) *map[string]string { return &i.Files },
			Shown: func(i *Inputs) bool { return len(i.Files) > 0 },
		}.Field(),
		key[Inputs, []string]{
			Row:  row{Name: "servers", Meaning: "sample paths, one per server, in order"},
			Kind: yamlfile.ListKind(yamlfile.TextKind(), false), At: func(i *Inputs) *[]string { return &i.Servers },
			Shown: func(i *Inputs) bool { return len(i.Servers) > 0 },
		}.Field(),
		key[Inputs, map[string]string]{
			Row:  row{Name: "outputs", Meaning: "paths for the files that analyze writes, by their names"},
			Kind: yamlfile.TextMapKind(), At: func(i *Inputs) *map[string]string { return &i.Outputs },
			Shown: func(i *Inputs) bool { return len(i.Outputs) > 0 },
		}.Field(),
	}}
}

// reportSection declares the files that analyze writes besides its report.
func reportSection() section[Report] {
	return section[Report]{Fields: []field[Report]{
		optionalText("table_csv", "the table as CSV", yamlfile.TextKind(), func(r *Report) *string { return &r.TableCSV }),
		optionalText("table_txt", "the table as text", yamlfile.TextKind(), func(r *Report) *string { return &r.TableTXT }),
		optionalText("plot_dir", "folder for the plots", yamlfile.TextKind(), func(r *Report) *string { return &r.PlotDir }),
		optionalText("readme", "the report as Markdown", yamlfile.TextKind(), func(r *Report) *string { return &r.README }),
		key[Report, []Image]{
			Row:  row{Name: "images", Meaning: "pictures for the README, each with the [image keys](#keys-of-an-image)"},
			Kind: yamlfile.ListKind(yamlfile.SectionKind("image", imageSection(), false), false), At: func(r *Report) *[]Image { return &r.Images },
			Shown: func(r *Report) bool { return len(r.Images) > 0 },
		}.Field(),
	}}
}

// imageSection declares one picture in a README.
func imageSection() section[Image] {
	return section[Image]{
		Fields: []field[Image]{
			key[Image, string]{
				Row: row{Name: "title"}, Kind: yamlfile.TextKind(), At: func(i *Image) *string { return &i.Title },
			}.Field(),
			key[Image, string]{
				Row:  row{Name: "path", Usually: "required", Meaning: "a file or an address"},
				Kind: yamlfile.TextKind(), At: func(i *Image) *string { return &i.Path },
			}.Field(),
			key[Image, string]{
				Row:  row{Name: "type", Preset: "local", Meaning: "`local` or `remote`"},
				Kind: yamlfile.WordKind("local", "remote"), At: func(i *Image) *string { return &i.Type },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[Image]) {
			if !w.Has("path") {
				r.Errorf(w.Node, "image: path is missing")
			}
		},
	}
}
