package analyze

import (
	"cmp"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/dustin/go-humanize/english"
)

// writeReadme writes our README, or the layout from a classic file.
func (d *document) writeReadme() error {
	if d.classic != nil {
		text, err := ClassicREADME(d.Title, d.Description, d.Text(), d.classic.Images)
		if err != nil {
			return err
		}
		return d.out.write(d.out.readme, []byte(text))
	}
	return d.out.write(d.out.readme, []byte(d.markdown()))
}

// ClassicREADME returns a README in the classic layout, which is pasted below other texts. The
// table is text in whole lines. An image that is neither local nor remote is an error.
func ClassicREADME(title, description, table string, images []Image) (string, error) {
	var b strings.Builder
	// The description in a classic file is its author's Markdown, without HTML.
	description = strings.ReplaceAll(plaintext.Visible(strings.TrimSpace(description)), "<", "&lt;")
	fmt.Fprintf(&b, "\n\n<br><br><hr>\n##### %s\n\n%s\n\n```\n%s```\n\n", plaintext.Markdown(plaintext.Line(title)), description, plaintext.Fenced(table))
	for _, image := range images {
		switch image.Type {
		case "local":
			fmt.Fprintf(&b, "\n![%s](./%s)\n", plaintext.Markdown(plaintext.Line(image.Title)), plaintext.Link(filepath.Base(image.Path)))
		case "remote":
			fmt.Fprintf(&b, "\n<img src=\"%s\" alt=\"%s\">\n", html.EscapeString(plaintext.Line(image.Path)), html.EscapeString(plaintext.Line(image.Title)))
		default:
			return "", fmt.Errorf("write README: image %q has the type %q, not local or remote", image.Title, image.Type)
		}
	}
	return b.String(), nil
}

// A README is read on a screen: it links the other files for everything that does not fit.
const (
	mostReadmeLines = 150
	// mostLeading and summarySections bound the figures and the table sections in a README.
	mostLeading     = 12
	summarySections = 2
	// Lists and tables in a README have at most mostListed lines. In a README that gets too long
	// they have fewer, but at least leastListed.
	mostListed, leastListed = 40, 4
)

// markdown returns our README. Its lists and tables are cut until it is short enough.
func (d *document) markdown() string {
	for most := mostListed; ; most-- {
		text := d.readme(most)
		if most == leastListed || strings.Count(text, "\n") <= mostReadmeLines {
			return text
		}
	}
}

// readme returns the README with lists and tables that have at most most lines, and with as many
// accounts as there is room for.
func (d *document) readme(most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", plaintext.Markdown(plaintext.Line(cmp.Or(d.Title, "dbtester report"))))
	if text := strings.TrimSpace(d.Description); text != "" {
		b.WriteString(plaintext.Markdown(text) + "\n\n")
	}
	b.WriteString(shortened(d.Headline.Markdown(), most))
	d.figuresPart(&b)
	d.numbersPart(&b, most)
	b.WriteString("\n## How it was run\n")
	if lines := d.commands(); len(lines) > 0 {
		fmt.Fprintf(&b, "\nTo run it again:\n\n```\n%s\n```\n", plaintext.Fenced(strings.Join(lines, "\n")))
	}
	d.accountsPart(&b)
	return b.String()
}

// figuresPart shows the main figures, which are the first ones.
func (d *document) figuresPart(b *strings.Builder) {
	leading := slices.IndexFunc(append(slices.Clip(d.drawn), figure.Figure{}), func(f figure.Figure) bool { return !f.Main })
	leading = min(leading, mostLeading)
	if len(d.drawn) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Figures\n\n%d of %s; [report.html](%s) has all, [%s](%s) the files, [%s](%s) the numbers that are drawn.\n", leading, english.Plural(len(d.drawn), "figure", ""),
		fileHTML, dirFigures, dirFigures, dirData, dirData)
	for _, f := range d.drawn[:leading] {
		fmt.Fprintf(b, "\n![%s](%s)\n", plaintext.Markdown(plaintext.Line(chart.Describe(f))), d.out.link(d.out.picture(f)))
	}
}

// numbersPart writes the first sections of the table with their notes, and links the rest.
func (d *document) numbersPart(b *strings.Builder, most int) {
	sections := d.Shown.Sections()
	all := 0
	for _, part := range sections {
		all += len(part.Defined())
	}
	var rows []table.Line
	for _, part := range sections[:min(len(sections), summarySections)] {
		rows = append(rows, part.Rows...)
	}
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, rowOf(row.Name, row.Cells, table.Cell.Lines))
	}
	fmt.Fprintf(b, "\n## Numbers\n\n%d of %d rows; [report.html](%s#numbers) has all rows and [what each means](%s#meaning), [%s](%s) has all as text, [%s](%s) one number to a line.\n\n",
		len(rows), all, fileHTML, fileHTML, fileTable+".txt", fileTable+".txt", fileTidy, fileTidy)
	b.WriteString(shortened(plaintext.Table(rowOf("", d.Shown.Columns, table.Header.Lines), cells, 1), most))
	if notes := d.Shown.NotesOn(rows); len(notes) > 0 {
		var lines strings.Builder
		for _, note := range notes {
			lines.WriteString("- " + plaintext.Markdown(plaintext.Line(note)) + "\n")
		}
		b.WriteString("\n" + shortened(lines.String(), most))
	}
}

// rowOf returns a table row, with a cell of several lines for each element in list.
func rowOf[T any](name string, list []T, linesOf func(T) []string) []string {
	row := []string{name}
	for _, one := range list {
		row = append(row, strings.Join(linesOf(one), "\n"))
	}
	return row
}

// accountsPart lists facts about runs and databases while there is room.
func (d *document) accountsPart(b *strings.Builder) {
	line := func(s string) string { return plaintext.Markdown(plaintext.Line(s)) }
	accounts := d.accounts()
	for i, a := range accounts {
		var one strings.Builder
		fmt.Fprintf(&one, "\n%s:\n\n", line(a.Of))
		for _, f := range a.Facts {
			fmt.Fprintf(&one, "- %s: %s\n", line(f.Name), line(f.Text))
		}
		const link = 2 // lines in the link below
		if strings.Count(b.String()+one.String(), "\n") > mostReadmeLines-link {
			fmt.Fprintf(b, "\n%d more: [report.html](%s#how).\n", len(accounts)-i, fileHTML)
			return
		}
		b.WriteString(one.String())
	}
}

// shortened cuts Markdown lists and tables that have more than most lines. The last line in a cut
// list or table states the number of omitted lines, and where they are.
func shortened(markdown string, most int) string {
	var b strings.Builder
	lines := strings.SplitAfter(markdown, "\n")
	for len(lines) > 0 {
		kind := kindOfLine(lines[0])
		n := 1
		for kind != "" && n < len(lines) && kindOfLine(lines[n]) == kind {
			n++
		}
		if kind == "" || n <= most {
			b.WriteString(strings.Join(lines[:n], ""))
		} else {
			b.WriteString(strings.Join(lines[:most-1], "") + moreLine(kind, lines[0], n-most+1))
		}
		lines = lines[n:]
	}
	return b.String()
}

// kindOfLine is how a list item or a table row begins, "" for other lines.
func kindOfLine(line string) string {
	for _, kind := range []string{"- ", "| ", "|-"} {
		if strings.HasPrefix(line, kind) {
			return strings.TrimSpace(kind)[:1]
		}
	}
	return ""
}

// moreLine is the last line in a list, or in a table with the given first row, after n lines were
// cut.
func moreLine(kind, first string, n int) string {
	text := fmt.Sprintf("%d more: [report.html](%s)", n, fileHTML)
	if kind == "-" {
		return "- " + text + "\n"
	}
	columns := strings.Count(strings.ReplaceAll(first, `\|`, ""), "|") - 1
	return "| " + text + " |" + strings.Repeat(" |", columns-1) + "\n"
}
