package analyze

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/pkg/plaintext"
)

// writeReadme writes our README, or the layout of a classic file.
func (d *document) writeReadme() error {
	if d.classic != nil {
		text, err := d.classicReadme(d.classic.Images)
		if err != nil {
			return err
		}
		return d.out.write(d.out.readme, []byte(text))
	}
	return d.out.write(d.out.readme, []byte(d.markdown()))
}

// classicReadme has the classic layout, which is pasted below other texts.
func (d *document) classicReadme(images []Image) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n<br><br><hr>\n##### %s\n\n%s\n\n```\n%s```\n\n", d.Title, strings.TrimSpace(d.Description), d.Text())
	for _, image := range images {
		switch image.Type {
		case "local":
			fmt.Fprintf(&b, "\n![%s](./%s)\n", image.Title, filepath.Base(image.Path))
		case "remote":
			fmt.Fprintf(&b, "\n<img src=%q alt=%q>\n", image.Path, image.Title)
		default:
			return "", fmt.Errorf("write README: image %q has the type %q, not local or remote", image.Title, image.Type)
		}
	}
	return b.String(), nil
}

func (d *document) markdown() string {
	var b strings.Builder
	title := d.Title
	if title == "" {
		title = "dbtester report"
	}
	fmt.Fprintf(&b, "# %s\n\n", plaintext.Markdown(title))
	if text := strings.TrimSpace(d.Description); text != "" {
		b.WriteString(plaintext.Markdown(text) + "\n\n")
	}
	b.WriteString(d.Headline.Markdown() + "\n## All numbers\n\n")
	fmt.Fprintf(&b, "```\n%s```\n\n", plaintext.Fenced(d.details()))
	b.WriteString("## How it was run\n")
	for _, a := range d.accounts() {
		fmt.Fprintf(&b, "\n%s:\n\n", plaintext.Markdown(a.Of))
		for _, f := range a.Facts {
			fmt.Fprintf(&b, "- %s: %s\n", plaintext.Markdown(f.Name), plaintext.Markdown(f.Text))
		}
	}
	if lines := d.commands(); len(lines) > 0 {
		fmt.Fprintf(&b, "\nTo run it again:\n\n```\n%s\n```\n", plaintext.Fenced(strings.Join(lines, "\n")))
	}
	b.WriteString("\n## What each number means\n")
	for _, part := range d.Shown.Sections() {
		fmt.Fprintf(&b, "\n### %s\n\n| row | unit | meaning |\n|---|---|---|\n", part.Name)
		for _, row := range part.Defined() {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", row.Name, row.Unit, strings.ReplaceAll(row.Definition, "|", "\\|"))
		}
	}
	b.WriteString("\n## Figures\n\nEach figure's data is in the CSV file of its name.\n")
	for _, f := range d.drawn {
		fmt.Fprintf(&b, "\n![%s](%s)\n", strings.NewReplacer("[", "\\[", "]", "\\]").Replace(chart.Describe(f)), (&url.URL{Path: f.Name + ".svg"}).EscapedPath())
	}
	return b.String()
}
