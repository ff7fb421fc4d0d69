package analyze

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// The files of a report, besides its figures.
const (
	fileTable     = "all-aggregated"
	fileMemory    = "server-memory-by-key-number.csv"
	fileReads     = "server-read-bytes-delta-by-key-number.csv"
	fileWrites    = "server-write-bytes-delta-by-key-number.csv"
	fileReadme    = "README.md"
	fileHTML      = "report.html"
	fileAggregate = fileTable + ".csv"
)

// output writes the files of a report and never one of its records.
type output struct {
	dir                           string
	tableCSV, tableTXT, tableJSON string
	readme, html                  string
	perColumn                     map[string]map[string]string // by tag and logical name
	records, folders, files       []string
	draw                          func(dir string, f figure.Figure) ([]string, error)
}

// newOutput decides where everything goes.
func newOutput(o Options) (*output, error) {
	out := &output{dir: o.Out, draw: figure.Write}
	for _, f := range o.Folders {
		absolute, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("find folder: %w", err)
		}
		out.folders = append(out.folders, absolute)
	}
	switch {
	case out.dir != "":
	case len(o.Folders) == 1:
		out.dir = filepath.Join(o.Folders[0], results.DirReport)
	case len(o.Folders) > 1:
		parent := holderOf(out.folders)
		if filepath.Dir(parent) == parent {
			return nil, errors.New("no folder holds all the result folders: say where the report is to be")
		}
		out.dir = filepath.Join(parent, results.DirReport)
	default:
		out.dir = classicDir(o.Classic.Report)
	}
	table := filepath.Join(out.dir, fileTable)
	out.tableCSV, out.tableTXT, out.tableJSON = table+".csv", table+".txt", table+".json"
	out.readme, out.html = filepath.Join(out.dir, fileReadme), filepath.Join(out.dir, fileHTML)
	if o.Classic != nil {
		out.protect(o.Classic)
		if o.Out == "" {
			out.followClassic(o.Classic)
		}
	}
	return out, nil
}

// holderOf is the deepest folder that holds several absolute ones.
func holderOf(folders []string) string {
	parent := filepath.Dir(folders[0])
	for _, folder := range folders[1:] {
		for !strings.HasPrefix(folder, strings.TrimSuffix(parent, string(filepath.Separator))+string(filepath.Separator)) {
			parent = filepath.Dir(parent)
		}
	}
	return parent
}

// IsReport reports whether a folder holds a report and no records: that of several
// runs lies beside them, where a pattern such as results/TITLE/* finds it.
func IsReport(dir string) bool {
	for _, name := range []string{fileTable + ".json", fileReadme, fileHTML} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(dir, results.FileManifest))
	return errors.Is(err, fs.ErrNotExist)
}

// classicDir is where the figures of a classic report go.
func classicDir(r config.Report) string {
	for _, path := range []string{r.TableCSV, r.TableTXT, r.README} {
		if r.PlotDir == "" && path != "" {
			return filepath.Dir(path)
		}
	}
	if r.PlotDir == "" {
		return "."
	}
	return r.PlotDir
}

// followClassic takes the paths that a classic file names.
func (out *output) followClassic(e *config.Experiment) {
	if e.Report.TableCSV != "" {
		out.tableCSV = e.Report.TableCSV
		out.tableJSON = strings.TrimSuffix(out.tableCSV, filepath.Ext(out.tableCSV)) + ".json"
	}
	if path := e.Report.TableTXT; path != "" {
		out.tableTXT = strings.TrimSuffix(path, filepath.Ext(path)) + ".txt"
	}
	if e.Report.README != "" {
		out.readme = e.Report.README
	}
	out.perColumn = map[string]map[string]string{}
	for tag, in := range e.Inputs {
		out.perColumn[tag] = in.Outputs
	}
}

// protect lists the classic inputs, which must not be written.
func (out *output) protect(e *config.Experiment) {
	for _, in := range e.Inputs {
		paths := slices.Clone(in.Servers)
		for _, path := range in.Files {
			paths = append(paths, path)
		}
		for _, path := range paths {
			if absolute, err := filepath.Abs(path); err == nil {
				out.records = append(out.records, absolute)
			}
		}
	}
}

// column is the path of one of a column's own files.
func (out *output) column(c *column, logical string) string {
	if path := out.perColumn[c.run.Tag][logical]; path != "" && c.repeat == 0 && c.classic {
		return path
	}
	return filepath.Join(out.dir, fileTag(c.tag)+"-"+logical)
}

// write writes one file and remembers it.
func (out *output) write(path string, data []byte) error {
	if err := out.check(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	out.files = append(out.files, path)
	return nil
}

// check refuses to write where records are.
func (out *output) check(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if slices.Contains(out.records, absolute) {
		return fmt.Errorf("write report: %q is one of the records", path)
	}
	for _, folder := range out.folders {
		inside, err := filepath.Rel(folder, absolute)
		if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
			continue
		}
		if top, _, _ := strings.Cut(inside, string(filepath.Separator)); top != results.DirReport {
			return fmt.Errorf("write report: %q is among the records of %q; only its %s folder may be written", path, folder, results.DirReport)
		}
	}
	return nil
}

// csv writes records as a CSV file.
func (out *output) csv(path string, records [][]string) error {
	data, err := encodeCSV(records)
	if err != nil {
		return err
	}
	return out.write(path, data)
}

// figure draws a figure's files.
func (out *output) figure(f figure.Figure) error {
	if err := out.check(filepath.Join(out.dir, f.Name+".csv")); err != nil {
		return err
	}
	if err := os.MkdirAll(out.dir, 0o755); err != nil {
		return fmt.Errorf("write figure: %w", err)
	}
	paths, err := out.draw(out.dir, f)
	out.files = append(out.files, paths...)
	return err
}
