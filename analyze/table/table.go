package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
)

// Table has one column for each database in each run.
type Table struct {
	Columns []Header `json:"columns"`
	Rows    []Line   `json:"rows"`
	// Notes are printed below the table, one per line, footnotes first.
	Notes []string `json:"notes,omitempty"`
}

// Line is a printed row: one number for every run.
type Line struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Definition string `json:"definition"`
	// Raw rows repeat another row in full digits. The text table omits them.
	Raw bool `json:"raw,omitempty"`
	// Section is the part of the table that contains the row. Its name states which part of the run
	// its rows describe.
	Section string `json:"section"`
	// Step and Operation name the part of the load that the row describes; "" means the whole load.
	// Metric names the measured quantity.
	Step      string `json:"step,omitempty"`
	Operation string `json:"operation,omitempty"`
	Metric    string `json:"metric"`
	Cells     []Cell `json:"cells"`
}

// New makes the table of the runs. A row that applies to no run is left out. A row that was not
// measured stays, with the reason.
func New(runs []*run.Run) *Table {
	t := filled(runs)
	t.annotate(runs)
	return t
}

// filled returns a table without footnotes and notes.
func filled(runs []*run.Run) *Table {
	t := &Table{Columns: Headers(alone(runs))}
	for _, r := range All(runs) {
		line := Line{
			Name: plaintext.Line(r.Name), Unit: r.Unit, Definition: r.Definition, Raw: r.Raw, Section: r.section,
			Step: r.Step, Operation: plaintext.Line(r.Operation), Metric: plaintext.Line(cmp.Or(r.Metric, r.Name)),
		}
		applies := false
		for _, c := range runs {
			cell := r.Cell(c)
			if r.Ours && c.Info.Limited && cell.Missing != "" {
				cell = inapplicable("%s", cell.Missing)
			}
			applies = applies || cell.applies()
			line.Cells = append(line.Cells, cell)
		}
		if applies {
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

// annotate numbers the footnotes and writes the notes below the table.
func (t *Table) annotate(runs []*run.Run) {
	t.footnotes()
	t.Notes = append(t.Notes, kindsNote(runs)...)
	t.Notes = append(t.Notes, clockNotes(runs)...)
	t.Notes = append(t.Notes, selfCheckNotes(runs)...)
	t.Notes = append(t.Notes, releaseNotes(runs)...)
}

// footnotes numbers the marks on cells and lists them below the table. Marks on uncertain
// percentiles use signs instead of numbers.
func (t *Table) footnotes() {
	var order []string
	signed := map[string]bool{}
	number := func(cell *Cell) {
		cell.Footnotes = nil
		for _, m := range cell.Marks {
			if m == run.FewMark || m == run.AtLeastMark {
				signed[m] = true
				continue
			}
			at := slices.Index(order, m)
			if at < 0 {
				at = len(order)
				order = append(order, m)
			}
			cell.Footnotes = append(cell.Footnotes, at+1)
		}
	}
	for _, row := range t.Rows {
		for i := range row.Cells {
			number(&row.Cells[i])
			for p := range row.Cells[i].Parts {
				number(&row.Cells[i].Parts[p].Cell)
			}
		}
	}
	for _, m := range []string{run.FewMark, run.AtLeastMark} {
		if signed[m] {
			t.Notes = append(t.Notes, m)
		}
	}
	for i, m := range order {
		t.Notes = append(t.Notes, fmt.Sprintf("[%d] %s", i+1, m))
	}
	t.Notes = append(t.Notes, t.unmeasured()...)
}

// NotesOn returns the notes that explain the signs used in the given rows.
func (t *Table) NotesOn(rows []Line) (notes []string) {
	var signs []string
	add := func(c Cell) {
		signs = append(signs, c.Marks...)
		for _, n := range c.Footnotes {
			signs = append(signs, fmt.Sprintf("[%d]", n))
		}
	}
	for _, row := range rows {
		for _, c := range row.Cells {
			add(c)
			for _, p := range c.Parts {
				add(p.Cell)
			}
		}
	}
	for _, note := range t.Notes {
		number, _, _ := strings.Cut(note, " ")
		if slices.Contains(signs, note) || slices.Contains(signs, number) {
			notes = append(notes, note)
		}
	}
	return notes
}

// unmeasured lists the reasons for cells without a value. Each reason is listed once, with its rows
// and, unless it applies to all runs, its runs.
func (t *Table) unmeasured() (notes []string) {
	type place struct {
		words, reason string
		column        int
	}
	var reasons []place
	rows := map[place][]string{}
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if row.Raw || cell.Missing == "" || !cell.applies() {
				continue
			}
			p := place{cell.Text, cell.Missing, i}
			if rows[p] == nil {
				reasons = append(reasons, p)
			}
			rows[p] = append(rows[p], row.Name)
		}
	}
	type note struct{ words, text string }
	var texts []note
	tags := map[note][]string{}
	for _, p := range reasons {
		text := note{p.words, strings.Join(rows[p], ", ") + ": " + p.reason}
		texts = append(texts, text)
		tags[text] = append(tags[text], t.Columns[p.column].title())
	}
	for i, text := range texts {
		if slices.Index(texts, text) < i {
			continue
		}
		of := ""
		if len(tags[text]) < len(t.Columns) {
			of = " of " + strings.Join(tags[text], ", ")
		}
		notes = append(notes, text.words+of+": "+text.text)
	}
	return notes
}

// headerOf returns the header for a database. It points out a server that is part of dbtester and a
// version that contradicts the label.
func headerOf(g trials.Group) Header {
	title := plaintext.Line(g.Title())
	name := plaintext.Line(g.Name)
	h := Header{Tag: g.Name, Text: name + builtIn(g.Runs[0]) + strings.TrimPrefix(title, name), Trials: len(g.Runs)}
	if m := g.Runs[0].Info.Manifest; m != nil && !m.Started.IsZero() {
		h.Date = m.Started.UTC().Format("2006-01-02 15:04")
	}
	return h
}

// alone puts each run into its own group.
func alone(runs []*run.Run) (groups []trials.Group) {
	for _, r := range runs {
		groups = append(groups, trials.Group{Name: r.Info.Tag, Runs: []*run.Run{r}})
	}
	return groups
}

// builtIn returns text that points out a server included in dbtester.
func builtIn(r *run.Run) string {
	if r.Info.Record.Built == run.BuiltIn && !r.Info.Unattended() {
		return " (" + run.BuiltIn + ")"
	}
	return ""
}

// Header is a column heading.
type Header struct {
	Tag string `json:"tag"`
	// Text is Tag, or "TAG (ran X)" if the members reported a version that contradicts the tag.
	Text string `json:"text"`
	// Trials counts the runs in the column.
	Trials int `json:"trials"`
	// Date is when the first run in the column started in UTC; "" if it was not recorded. Dated
	// equals Date if the columns come from several experiments; tables show it below Text.
	Date  string `json:"date,omitempty"`
	Dated string `json:"dated,omitempty"`
}

// title is Text without the note about a built-in server.
func (h Header) title() string { return strings.Replace(h.Text, " ("+run.BuiltIn+")", "", 1) }

// Lines returns the lines in the heading.
func (h Header) Lines() []string {
	if h.Dated == "" {
		return []string{h.Text}
	}
	return []string{h.Text, h.Dated}
}

// Headers returns the headings for the columns in a report.
func Headers(groups []trials.Group) []Header {
	var out []Header
	starts := map[*results.Manifest]bool{}
	for _, g := range groups {
		out = append(out, headerOf(g))
		starts[g.Runs[0].Info.Manifest] = true
	}
	for i := range out {
		if len(starts) > 1 {
			out[i].Dated = out[i].Date
		}
	}
	return out
}

// clockNotes explain from which moment latencies are counted.
func clockNotes(runs []*run.Run) (notes []string) {
	var closed, rated []string
	for _, r := range runs {
		for _, g := range r.Stages {
			tag := r.Info.Name()
			if r.Rated() && r.Closed() {
				tag += " (" + g.Label + ")"
			}
			switch {
			case g.Latency.Due.N.Value <= 0, g.Latency.Clock == run.FromSentAtRate: // a gap explains this clock
			case g.Latency.Rated():
				rated = append(rated, tag)
			default:
				closed = append(closed, tag)
			}
		}
	}
	rated, closed = run.Distinct(rated), run.Distinct(closed)
	of := func(tags []string) string {
		if len(rated) == 0 || len(closed) == 0 {
			return ""
		}
		return " of " + strings.Join(tags, ", ")
	}
	if len(rated) > 0 {
		notes = append(notes, "latencies"+of(rated)+" are response times, counted from when a request was due, so they include waiting for a free client; the Service rows count from when it was sent")
	}
	if len(closed) > 0 {
		notes = append(notes, "latencies"+of(closed)+" are service times of a closed loop, counted from when a request was sent: a client that waits for an answer sends nothing, so few requests see a stall and no percentile includes the wait; only a load with a rate measures it")
	}
	return notes
}

// releaseNotes returns the notes that the records have on member releases, each once.
func releaseNotes(runs []*run.Run) (notes []string) {
	for _, r := range runs {
		for _, m := range r.Info.Record.Members {
			if m.Release == nil {
				continue
			}
			for _, note := range m.Release.Notes {
				notes = append(notes, r.Info.Name()+": "+note)
			}
		}
	}
	return run.Distinct(notes)
}
