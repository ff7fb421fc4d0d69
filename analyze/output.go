package analyze

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
)

// The files in a report, except its figures.
const (
	fileTable     = "all-aggregated"
	fileMemory    = "server-memory-by-key-number.csv"
	fileReads     = "server-read-bytes-delta-by-key-number.csv"
	fileWrites    = "server-write-bytes-delta-by-key-number.csv"
	fileTidy      = "numbers.csv"
	fileReadme    = "README.md"
	fileHTML      = "report.html"
	fileAggregate = fileTable + ".csv"
	fileTrace     = "trace.json.gz"
	// Name parts for the classic files by client count.
	partByClients = "-BY-CLIENT-NUM"
	partMeans     = "-aggregated.csv"
)

// The folders in a report: one for SVG and PNG files, one for CSV files about figures and runs. A
// report at the place that a classic file names has everything in one folder.
const (
	dirFigures = "figures"
	dirData    = "data"
)

// output writes the files of a report, and never overwrites a record.
type output struct {
	dir                           string
	figures, data                 string // folders in dir, or dir itself for a classic file
	inside                        bool   // dir was not given: it lies in, or beside, result folders
	tableCSV, tableTXT, tableJSON string
	readme, html                  string
	own                           map[*run.Run]map[string]string // paths to the outputs of a run by name
	records, folders, files       []string
	png, seconds, trace           bool // as in Options
	draw                          func(pictures, data string, f figure.Figure, png bool) ([]string, error)
}

// newOutput decides where every file goes.
func newOutput(o Options) (*output, error) {
	out := &output{dir: o.Out, inside: o.Out == "" && len(o.Folders) > 0, draw: figure.Write}
	out.png, out.seconds = o.PNG || o.Classic != nil, o.Seconds || o.Classic != nil
	out.trace = o.Trace
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
			return nil, errors.New("the result folders have no common parent folder: name the folder of the report")
		}
		out.dir = filepath.Join(parent, results.DirReport)
	default:
		out.dir = classicDir(o.Classic.Report)
	}
	table := filepath.Join(out.dir, fileTable)
	out.tableCSV, out.tableTXT, out.tableJSON = table+".csv", table+".txt", table+".json"
	out.readme, out.html = filepath.Join(out.dir, fileReadme), filepath.Join(out.dir, fileHTML)
	out.figures, out.data = filepath.Join(out.dir, dirFigures), filepath.Join(out.dir, dirData)
	if o.Classic != nil {
		out.protect(o.Classic)
		if o.Out == "" {
			out.followClassic(o.Classic)
		}
	}
	return out, nil
}

// holderOf returns the deepest folder that contains several absolute folders.
func holderOf(folders []string) string {
	parent := filepath.Dir(folders[0])
	for _, folder := range folders[1:] {
		for !strings.HasPrefix(folder, strings.TrimSuffix(parent, string(filepath.Separator))+string(filepath.Separator)) {
			parent = filepath.Dir(parent)
		}
	}
	return parent
}

// IsReport reports whether a folder contains a report and no records. A report on several
// runs lies next to them, so a pattern such as results/TITLE/* matches it.
func IsReport(dir string) bool {
	for _, name := range []string{fileTable + ".json", fileReadme, fileHTML} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(dir, results.FileManifest))
	return errors.Is(err, fs.ErrNotExist)
}

// classicDir is the folder for the figures of a classic report.
func classicDir(r ClassicReport) string {
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

// followClassic takes the paths from a classic file, whose plot folder also has their data.
func (out *output) followClassic(e *Classic) {
	out.figures, out.data = out.dir, out.dir
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
}

// protect lists the classic inputs, which must not be overwritten.
func (out *output) protect(e *Classic) {
	for _, in := range e.Runs {
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

// ofRun returns where an output about one run goes. The path comes from the classic file if the
// report is written at the place that the file names.
func (out *output) ofRun(r *run.Run, logical string) string {
	if path := out.own[r][logical]; path != "" && r.Info.Repeat == 0 {
		return path
	}
	return filepath.Join(out.data, nameOf(r.Info.Tag, logical))
}

// nameOf prefixes an output name with the run tag.
func nameOf(tag, logical string) string { return run.FileTag(tag) + "-" + logical }

// link is the address of a report file in the README and on the page.
func (out *output) link(path string) string {
	inside, err := filepath.Rel(out.dir, path)
	if err != nil {
		inside = filepath.Base(path)
	}
	return plaintext.Link(filepath.ToSlash(inside))
}

// picture and table are the files for a figure.
func (out *output) picture(f figure.Figure) string { return filepath.Join(out.figures, f.Name+".svg") }
func (out *output) table(f figure.Figure) string   { return filepath.Join(out.data, f.Name+".csv") }

// write writes one file and records it.
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

// check fails for a path among the records.
func (out *output) check(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	// A link would take the file out of the report folder.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write report: %q must be a regular file, got %s", path, info.Mode().Type())
	}
	for _, dir := range []string{out.dir, out.figures, out.data} {
		if info, err := os.Lstat(dir); err == nil && out.inside && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("write report: %q must be a folder, got a symbolic link", dir)
		}
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

func (out *output) csv(path string, records [][]string) error {
	data, err := table.EncodeCSV(records)
	if err != nil {
		return err
	}
	return out.write(path, data)
}

// lines writes a CSV file line by line, and records it.
func (out *output) lines(path string, l chart.Lines) error {
	header, err := table.EncodeCSV([][]string{l.Header})
	if err != nil {
		return err
	}
	if err := out.check(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	w := bufio.NewWriterSize(f, 64<<10) // it keeps its first error
	_, _ = w.Write(header)
	l.Each(func(line []byte) { _, _ = w.Write(line) })
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	out.files = append(out.files, path)
	return nil
}

// figure draws a figure and returns its files. Figures may be drawn concurrently.
func (out *output) figure(f figure.Figure) ([]string, error) {
	picture := out.picture(f)
	for _, path := range []string{picture, strings.TrimSuffix(picture, ".svg") + ".png", out.table(f)} {
		if err := out.check(path); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("write figure: %w", err)
		}
	}
	return out.draw(out.figures, out.data, f, out.png)
}
