package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Show writes an experiment as a compact file with every default filled in, including those for
// driver options, each below its help line. Read again, the file gives the same experiment except
// for Path, Classic and places.
func Show(e *Experiment) ([]byte, error) {
	node := fileSection(nil).Show(&fileSpec{Experiment: *e}).Node()
	for _, d := range e.Databases {
		if _, err := yamlfile.EncodeOptions(d.Options); err != nil {
			return nil, fmt.Errorf("show %s: %w", d.ID, err)
		}
	}
	data, err := yamlfile.Dump(node)
	if err != nil {
		return nil, fmt.Errorf("show experiment: %w", err)
	}
	return data, nil
}

// Migrate writes the experiment from a classic file as a compact file with every default filled in.
// Comments above the file and above a database report the changes: warnings about the classic file,
// and differences in the compact form. Read again, the file gives the same experiment, except for
// files that only analyzing a classic file needs, and for versions that were labels.
func Migrate(e *Experiment, warnings []yamlfile.Problem, catalog Catalog) ([]byte, error) {
	other := *e
	other.Inputs, other.Report, other.Databases = nil, Report{}, slices.Clone(e.Databases)
	top := []string{fmt.Sprintf("The experiment of %s in the compact form.", filepath.Base(e.Path))}
	if len(e.Inputs) > 0 || !reflect.DeepEqual(e.Report, Report{}) {
		top = append(top, "It does not contain the inputs and outputs of analyze: dbtester analyze RUN reads a result folder and writes to its report folder.")
	}
	if e.Upload != nil {
		top = append(top, "An upload has only the result folder, as URL/TITLE/TIME: names such as TAG-1-FILE belong to classic files.")
	}
	for _, w := range warnings {
		top = append(top, "Then: "+w.Text)
	}
	notes := map[string][]string{}
	for i := range other.Databases {
		d := &other.Databases[i]
		at := slices.IndexFunc(catalog, func(entry database.Database) bool { return entry.Name == d.Name })
		embedded := at >= 0 && catalog[at].Info.Embedded != ""
		switch was := d.Version; {
		case d.UseVersion != "":
			d.Version, d.UseVersion = d.UseVersion, ""
			notes[d.ID] = []string{fmt.Sprintf("version was %s", was)}
		case was != "" && embedded:
			d.Version = ""
			notes[d.ID] = []string{fmt.Sprintf("%s was only a label: the built-in server ran, and it runs here too. For a release, give version and install: true.", was)}
		case was != "":
			notes[d.ID] = []string{fmt.Sprintf("Agents must have the release %s; with install: true they fetch it first.", was)}
		}
	}
	data, err := Show(&other)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, line := range top {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	for line := range strings.Lines(string(data)) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "  "), ":")
		if strings.HasPrefix(line, "  ") && notes[id] != nil {
			for _, note := range notes[id] {
				fmt.Fprintf(&b, "  # %s\n", note)
			}
			delete(notes, id)
		}
		b.WriteString(line)
	}
	return []byte(b.String()), nil
}
