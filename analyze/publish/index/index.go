// Package index lists the reports below a folder on one page and in a README: their dates,
// databases, machines and verdicts. Reports are listed separately depending on whether members and
// clients shared machines, because their numbers cannot be compared. Each list is sorted by time,
// never by numbers. The package reads only the JSON file of each report.
package index

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// The written files, and the file that makes a folder a report.
const (
	Readme = "README.md"
	Page   = "index.html"
	source = "all-aggregated.json"
)

// begin and end are the lines in a README that enclose the list.
const (
	begin = "<!-- results: written by dbtester index -->"
	end   = "<!-- end of results -->"
)

// generator marks pages that may be overwritten.
const generator = `<meta name="generator" content="dbtester index">`

// Entry is one report.
type Entry struct {
	// Dir is the report folder, relative to the index, with slashes.
	Dir, Title string
	// Date is when the first run started; "" if unknown.
	Date string
	// Databases are the columns with their actual versions, Machines the machines that ran them,
	// and Tools the dbtester versions; each once.
	Databases, Machines, Tools []string
	// Verdict is the verdict in the report. Trust is worded here, because the report's own text
	// refers to other lines in the report.
	Verdict, Trust string
	Valid          bool
	// Placement is where clients and members ran.
	Placement Placement
	// Link is the address relative to the index.
	Link string
}

// report is the part of the JSON file that the index needs. Older files lack runs and headline.
type report struct {
	Title    string `json:"title"`
	Valid    bool   `json:"valid"`
	Headline struct {
		Verdict string `json:"verdict"`
		Grade   struct {
			Letter string `json:"letter"`
			Use    string `json:"use"`
		} `json:"grade"`
		Trust struct {
			Reasons []reason `json:"reasons"`
		} `json:"trust"`
	} `json:"headline"`
	Runs []struct {
		Tag      string   `json:"tag"`
		Started  string   `json:"started"`
		Versions []string `json:"versions"`
		Tool     struct {
			Version string `json:"version"`
		} `json:"tool"`
		Client  host     `json:"client"`
		Members []member `json:"members"`
		// Generators are the machines that issued the load; empty if the client did.
		Generators []member `json:"generators"`
	} `json:"runs"`
	Table struct {
		Columns []struct {
			Text string `json:"text"`
		} `json:"columns"`
	} `json:"table"`
}

// reason is a mark in a report.
type reason struct {
	Code    string `json:"code"`
	Invalid bool   `json:"invalid"`
	Weakens bool   `json:"weakens"`
}

type member struct {
	Host host `json:"host"`
}

type host struct {
	Name     string `json:"name"`
	CPUs     int    `json:"cpus"`
	CPUModel string `json:"cpu_model"`
	// BootID is equal for hosts on the same machine; "" if it was not recorded.
	BootID string `json:"boot_id"`
}

// mostBytes limits the size of a JSON file.
const mostBytes = 256 << 20

// Find reads the reports below a folder, newest first. It does not follow symbolic links. If some
// reports cannot be read, it returns the others and an error.
func Find(dir string) (entries []Entry, err error) {
	var problems []error
	walked := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || d.Name() != source:
			return nil
		}
		one, err := read(dir, p)
		if err != nil {
			problems = append(problems, fmt.Errorf("read the report %s: %w", p, err))
			return nil
		}
		entries = append(entries, one)
		return nil
	})
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(b.Date, a.Date) })
	return entries, errors.Join(append(problems, walked)...)
}

// read reads one report.
func read(dir, p string) (Entry, error) {
	data, err := regularfile.Read(p, mostBytes)
	if err != nil {
		return Entry{}, err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return Entry{}, err
	}
	inside, err := filepath.Rel(dir, filepath.Dir(p))
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Dir: filepath.ToSlash(inside), Title: r.Title, Verdict: r.Headline.Verdict, Trust: trustOf(r.Headline.Trust.Reasons, r.Valid), Valid: r.Valid}
	if g := r.Headline.Grade; g.Letter != "" {
		e.Trust = fmt.Sprintf("Grade %s, %s. %s", g.Letter, g.Use, e.Trust)
	}
	for _, name := range []string{"README.md", "report.html"} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(p), name)); err == nil && info.Mode().IsRegular() && e.Link == "" {
			e.Link = plaintext.Link(path.Join(e.Dir, name))
		}
	}
	for _, one := range r.Runs {
		if at, err := time.Parse(time.RFC3339, one.Started); err == nil {
			if date := at.UTC().Format("2006-01-02 15:04"); e.Date == "" || date < e.Date {
				e.Date = date
			}
		}
		e.Databases = add(e.Databases, strings.TrimSpace(one.Tag+" "+strings.Join(one.Versions, ", ")))
		e.Tools = add(e.Tools, one.Tool.Version)
		e.Placement = e.Placement.with(placementOf(one.Client, one.Members, one.Generators))
		e.Machines = add(e.Machines, one.Client.text())
		for _, m := range slices.Concat(one.Members, one.Generators) {
			e.Machines = add(e.Machines, m.Host.text())
		}
	}
	if len(r.Runs) == 0 {
		e.Placement = Unknown
	}
	for _, c := range r.Table.Columns {
		if len(r.Runs) == 0 {
			e.Databases = add(e.Databases, c.Text)
		}
	}
	return e, nil
}

// trustOf states how far to trust a report, given its marks.
func trustOf(reasons []reason, valid bool) string {
	var invalid, weakened []string
	for _, r := range reasons {
		switch {
		case r.Invalid:
			invalid = add(invalid, r.Code)
		case r.Weakens:
			weakened = add(weakened, r.Code)
		}
	}
	switch {
	case len(invalid) > 0:
		return "NOT VALID: " + strings.Join(invalid, ", ") + "."
	case !valid:
		return "NOT VALID."
	case len(weakened) > 0:
		return "Weakened by: " + strings.Join(weakened, ", ") + "."
	}
	return "Nothing was found that weakens the numbers."
}

func (h host) text() string {
	if h.CPUs == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d CPUs %s", h.CPUs, h.CPUModel))
}

// add appends a text unless it is empty or already in the list.
func add(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Markdown returns a table with entries for each placement, below a heading.
func Markdown(entries []Entry) string {
	clean := plaintext.Cell
	cells := func(texts []string) string {
		var out []string
		for _, s := range texts {
			out = append(out, clean(s))
		}
		return strings.Join(out, "<br>")
	}
	var b strings.Builder
	for i, l := range listsOf(entries) {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| result | date (UTC) | databases | machines | dbtester | verdict |\n|---|---|---|---|---|---|\n", l.Title, l.Text)
		for _, e := range l.Entries {
			name := clean(e.Name())
			if e.Link != "" {
				name = "[" + name + "](" + e.Link + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, clean(e.Date), cells(e.Databases), cells(e.Machines), cells(e.Tools), clean(e.Summary()))
		}
	}
	return b.String()
}

// Name is the title, or the folder if the report has no title.
func (e Entry) Name() string {
	if e.Title == "" {
		return e.Dir
	}
	return e.Title
}

// Summary is the verdict and how far to trust it.
func (e Entry) Summary() string {
	switch {
	case e.Verdict == "" && e.Valid:
		return "made by an older version, without a verdict"
	case e.Verdict == "":
		return "NOT VALID; made by an older version, without a verdict"
	}
	return e.Verdict + " " + e.Trust
}

//go:embed index.html.tmpl
var markup string

// HTML returns the list as a self-contained page.
func HTML(title string, entries []Entry) ([]byte, error) {
	t, err := template.New("index").Parse(markup)
	if err != nil {
		return nil, fmt.Errorf("read page template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Title": title, "Lists": listsOf(entries), "Generator": template.HTML(generator)}); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return []byte(plaintext.Visible(b.String())), nil
}

// Write writes the list into a folder, as a page and in a README. It keeps the lines of the README
// outside the list. It never overwrites files written by others: a README must have the two lines
// that enclose the list.
func Write(dir, title string, entries []Entry) (files []string, err error) {
	readme, err := readmeOf(filepath.Join(dir, Readme), title, Markdown(entries))
	if err != nil {
		return nil, err
	}
	page, err := HTML(title, entries)
	if err != nil {
		return nil, err
	}
	if old, err := regularfile.Read(filepath.Join(dir, Page), mostBytes); err == nil && !bytes.Contains(old, []byte(generator)) {
		return nil, fmt.Errorf("%s was not written by dbtester index: move it away", filepath.Join(dir, Page))
	}
	for name, data := range map[string][]byte{Readme: readme, Page: page} {
		if err := wholefile.Write(filepath.Join(dir, name), wholefile.Bytes(data)); err != nil {
			return nil, fmt.Errorf("write the index: %w", err)
		}
	}
	return []string{filepath.Join(dir, Readme), filepath.Join(dir, Page)}, nil
}

// readmeOf returns the README with the list inserted.
func readmeOf(path, title, list string) ([]byte, error) {
	part := begin + "\n" + list + end + "\n"
	old, err := regularfile.Read(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return []byte("# " + plaintext.Markdown(plaintext.Line(title)) + "\n\n" + part), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the README: %w", err)
	}
	before, rest, found := strings.Cut(string(old), begin+"\n")
	_, after, ended := strings.Cut(rest, end+"\n")
	if !found || !ended {
		return nil, fmt.Errorf("%s has no place for the list: add the lines %q and %q where it belongs", path, begin, end)
	}
	return []byte(before + part + after), nil
}
