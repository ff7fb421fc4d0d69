package figure

import (
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Inline writes f as an svg element for the inside of a page: the picture of [SVG] without
// ids, fonts and widths of texts. Colours are attributes, so that rules of the page's style
// can replace them.
func Inline(w io.Writer, f Figure) error {
	c, err := drawCompact(f, false)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `<svg viewBox="0 0 %s %s" role="img"><title>%s</title>%s%s</svg>`,
		tenths(c.width), tenths(c.height), escaped(f.Title), joined(merged(c.paths), ""), joined(c.texts, ""))
	if err != nil {
		return fmt.Errorf("write figure %s as svg: %w", f.Name, err)
	}
	return nil
}

// merged makes paths of one look that follow each other one path. Areas that can be seen through
// stay apart: where they overlap they are darker.
func merged(paths []styled) (out []styled) {
	for _, p := range paths {
		n := len(out) - 1
		if n < 0 || out[n].look != p.look || strings.Contains(p.look, "opacity") || strings.Contains(p.look, "dasharray") {
			out = append(out, p)
			continue
		}
		before, after := strings.TrimSuffix(out[n].place, `"`), strings.TrimPrefix(p.place, `d="m`)
		out[n].place = before + "M" + after
	}
	return out
}

// Color is the colour of a key from 1 as #rrggbb: that of its family's first series.
func Color(key int) string { return hex(hue(max(key, 1))) }

// Look is the colour of a series as #rrggbb and the shape of its marker, from 1. A
// series without a key has those of key 1.
func (s Series) Look() (color string, shape int) {
	s.Key = max(s.Key, 1)
	l := s.look()
	return hex(l.color), l.shape
}

// TextColor is the colour of small text about a series as #rrggbb: that of its line, as
// dark as it takes to be read on white.
func (s Series) TextColor() string {
	s.Key = max(s.Key, 1)
	return hex(dark(s.look().color))
}

// Marker is the marker of a shape from 1 as the data of an SVG path around the origin, for
// a circle of the given radius.
func Marker(shape int, radius float64) string {
	return pathData(markerPath(max(shape, 1), vg.Length(radius), vg.Point{}), func(at vg.Point) (x, y float64) { return float64(at.X), -float64(at.Y) })
}

// Shades returns the colours of a grid's cells, from the fewest counts to the most, and
// the place among them of each cell that is not empty; of others -1.
func (g *Grid) Shades() (colors []string, level func(n float64) int) {
	least, most, _ := g.extent()
	for i := range heatShades {
		colors = append(colors, hex(shade(i)))
	}
	return colors, func(n float64) int {
		if n <= 0 {
			return -1
		}
		return shadeOf(n, least, most)
	}
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
