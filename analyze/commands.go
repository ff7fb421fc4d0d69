package analyze

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// commands returns the command lines that reproduce the runs and the report. They name
// files without folders, because the folders belong to another machine.
func (d *document) commands() (lines []string) {
	var last *results.Manifest
	for _, r := range d.runs {
		if r.Info.Manifest == nil || r.Info.Manifest == last {
			continue
		}
		last = r.Info.Manifest
		command := commandOf(r.Info.Manifest)
		if r.Info.Manifest.SelfCheck != nil {
			lines = append(lines, "dbtester selfcheck --json selfcheck.json")
			command = strings.Replace(command, " --config ", " --selfcheck selfcheck.json --config ", 1)
		} else if slices.ContainsFunc(r.Info.Manifest.Databases, func(d *results.DatabaseRun) bool { return d.SelfCheck != nil }) {
			command = strings.Replace(command, " --config ", " --selfcheck auto --config ", 1)
		}
		lines = append(lines, command)
	}
	switch {
	case d.folders > 0:
		lines = append(lines, "dbtester analyze"+strings.Repeat(" RESULT-FOLDER", d.folders))
	case d.classicFile != "":
		lines = append(lines, "dbtester analyze --config "+plaintext.Word(filepath.Base(d.classicFile)))
	}
	return run.Distinct(lines)
}

func commandOf(m *results.Manifest) string {
	var e struct {
		Path string `json:"path"`
	}
	// A manifest without a readable configuration still names its run.
	_ = json.Unmarshal(m.Config, &e)
	if e.Path == yamlfile.Stdin {
		e.Path = "-"
	}
	switch {
	case e.Path != "" && m.Local:
		return "dbtester control --local --config " + plaintext.Word(filepath.Base(e.Path))
	case e.Path != "":
		return "dbtester control --config " + plaintext.Word(filepath.Base(e.Path))
	case m.Local:
		return "dbtester quickstart"
	}
	return "dbtester control --config FILE"
}
