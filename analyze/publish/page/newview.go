package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/table"
)

func newView(p Page) (*view, error) {
	css := style + palette()
	js, err := script("tables", "search", "page")
	if err != nil {
		return nil, err
	}
	v := &view{
		Page: p, first: firstOf(p.Headline), Style: template.CSS(css), Script: template.JS(js), Policy: policy(css, js, ""),
		Columns: p.Table.Columns, Crowded: len(p.Table.Columns) >= crowded,
	}
	ids := ids{}
	for i, s := range p.Table.Sections() {
		one := section{ID: ids.of("section", s.Name), Name: s.Name}
		for n, l := range slices.Concat(s.Rows, s.Zero) {
			one.Rows = append(one.Rows, row{Line: l, ID: ids.of("row", l.Name), Zero: n >= len(s.Rows)})
		}
		one.Zeros, one.Stepped = len(s.Zero), table.SteppedNote(s.Stepped)
		if len(one.Rows) == 0 {
			for _, note := range one.Stepped {
				v.Elsewhere = append(v.Elsewhere, s.Name+": "+note)
			}
			continue
		}
		if i < openSections {
			v.Sections = append(v.Sections, one)
		} else {
			v.More = append(v.More, one)
		}
	}
	bins := binsFor(p.Figures)
	for _, f := range p.Figures {
		one, err := newPicture(ids, f, bins)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Main && len(v.Leading) < leadingFigures:
			v.Leading = append(v.Leading, one)
		case f.Main:
			v.Pictures = append(v.Pictures, one)
		default:
			v.Others = append(v.Others, one)
		}
	}
	return v, nil
}

func newPicture(ids ids, f Figure, bins int) (picture, error) {
	thin := thinned(f.Figure, bins)
	var svg bytes.Buffer
	if err := figure.Inline(&svg, thin); err != nil {
		return picture{}, err
	}
	p := picture{
		ID: ids.of("figure", f.Name), Name: f.Name, Title: f.Title, Short: f.Heading(), Alt: f.Alt,
		CSV: cmp.Or(f.CSV, url.PathEscape(f.Name)+".csv"), Picture: cmp.Or(f.Picture, url.PathEscape(f.Name)+".svg"),
		Heat: f.Kind == figure.Heat, SVG: template.HTML(svg.String()),
	}
	encoded, err := json.Marshal(dataOf(thin))
	if err != nil {
		return picture{}, fmt.Errorf("encode figure %s: %w", f.Name, err)
	}
	p.Data = template.JS(encoded)
	return p, nil
}

// crowded is the column count from which a table is printed in smaller type.
const crowded = 5

// palette is the part of the style that defines a variable for each colour used in figures, so that
// dark mode can replace them all.
func palette() string {
	var light, dark, rules strings.Builder
	seen := map[string]bool{}
	// Eight keys have five shades each. A page with more keys repeats colours.
	for n := range 40 {
		s := figure.Series{Key: n/5 + 1, Variant: n % 5}
		line, _ := s.Look()
		for _, c := range []string{line, s.TextColor()} {
			if seen[c] {
				continue
			}
			seen[c] = true
			name := "--c" + strings.TrimPrefix(c, "#")
			fmt.Fprintf(&light, "%s:%s;", name, c)
			fmt.Fprintf(&dark, "%s:%s;", name, lighter(c))
			fmt.Fprintf(&rules, ".themed [stroke=\"%s\"]{stroke:var(%s)}.themed [fill=\"%s\"]{fill:var(%s)}\n", c, name, c, name)
		}
	}
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){%s}}\n:root[data-theme=dark]{%s}\n@media print{:root,:root[data-theme]{%s}}\n%s",
		light.String(), dark.String(), dark.String(), light.String(), rules.String())
}

// lighter mixes a colour with white until it is visible on a dark page.
func lighter(c string) string {
	var r, g, b int
	if _, err := fmt.Sscanf(c, "#%02x%02x%02x", &r, &g, &b); err != nil {
		return c
	}
	for 299*r+587*g+114*b < 1000*140 {
		r, g, b = r+(255-r+9)/10, g+(255-g+9)/10, b+(255-b+9)/10
	}
	return fmt.Sprintf("#%02x%02x%02x", r, g, b)
}

// openSections is the number of unfolded table sections. On paper, the others form the appendix.
const openSections = 2

// leadingFigures is the number of main figures on the first screen.
const leadingFigures = 2
