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
	"github.com/coreos/dbtester/pkg/plaintext"
)

// writeReadme writes our README, or the layout of a classic file.
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

// ClassicREADME returns a README in the classic layout, which is pasted below other texts.
// The table is text of whole lines. Errors are of images that are neither local nor remote.
func ClassicREADME(title, description, table string, images []Image) (string, error) {
	var b strings.Builder
	// The description of a classic file is Markdown of its author, without HTML.
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

func (d *document) markdown() string {
	var b strings.Builder
	line := func(s string) string { return plaintext.Markdown(plaintext.Line(s)) }
	fmt.Fprintf(&b, "# %s\n\n", line(cmp.Or(d.Title, "dbtester report")))
	if text := strings.TrimSpace(d.Description); text != "" {
		b.WriteString(plaintext.Markdown(text) + "\n\n")
	}
	b.WriteString(d.Headline.Markdown())
	leading := slices.IndexFunc(append(slices.Clip(d.drawn), figure.Figure{}), func(f figure.Figure) bool { return !f.Main })
	if leading > 0 {
		b.WriteString("\n## Figures\n\nThe data of each figure is in the CSV file of its name in data.\n")
		d.pictures(&b, d.drawn[:leading])
	}
	fmt.Fprintf(&b, "\n## All numbers\n\n```\n%s```\n\n", plaintext.Fenced(d.details()))
	b.WriteString("## How it was run\n")
	for _, a := range d.accounts() {
		fmt.Fprintf(&b, "\n%s:\n\n", line(a.Of))
		for _, f := range a.Facts {
			fmt.Fprintf(&b, "- %s: %s\n", line(f.Name), line(f.Text))
		}
	}
	if lines := d.commands(); len(lines) > 0 {
		fmt.Fprintf(&b, "\nTo run it again:\n\n```\n%s\n```\n", plaintext.Fenced(strings.Join(lines, "\n")))
	}
	b.WriteString("\n## What each number means\n")
	for _, part := range d.Shown.Sections() {
		fmt.Fprintf(&b, "\n### %s\n\n| row | unit | meaning |\n|---|---|---|\n", part.Name)
		for _, row := range part.Defined() {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", plaintext.Cell(row.Name), plaintext.Cell(row.Unit), plaintext.Cell(row.Definition))
		}
	}
	if leading < len(d.drawn) {
		b.WriteString("\n## More figures\n")
		d.pictures(&b, d.drawn[leading:])
	}
	return b.String()
}

// pictures writes figures as images, by their paths in the report.
func (d *document) pictures(b *strings.Builder, figures []figure.Figure) {
	for _, f := range figures {
		fmt.Fprintf(b, "\n![%s](%s)\n", plaintext.Markdown(plaintext.Line(chart.Describe(f))), d.out.link(d.out.picture(f)))
	}
}
