package figure

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/plot/vg"
)

// Inline writes f as an svg element for embedding in a page: like [SVG], but without ids, fonts and
// text widths. Colours are attributes, so the page style can override them.
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

// merged joins consecutive paths with equal attributes into one path. Translucent areas stay
// separate, because they are darker where they overlap.
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

// Color returns the colour for a key as #rrggbb: that of the first series in its family. Keys count
// from 1.
func Color(key int) string { return hex(hue(max(key, 1))) }

// Look returns the colour of a series as #rrggbb and the shape of its marker, from 1. A series
// without a key looks like key 1.
func (s Series) Look() (color string, shape int) {
	s.Key = max(s.Key, 1)
	l := s.look()
	return hex(l.color), l.shape
}

// TextColor returns the colour for small text about a series as #rrggbb: the line colour, darkened
// until it is legible on white.
func (s Series) TextColor() string {
	s.Key = max(s.Key, 1)
	return hex(dark(s.look().color))
}

// Marker returns a marker as SVG path data around the origin. shape counts from 1, and radius is
// that of the circle marker.
func Marker(shape int, radius float64) string {
	return pathData(markerPath(max(shape, 1), vg.Length(radius), vg.Point{}), func(at vg.Point) (x, y float64) { return float64(at.X), -float64(at.Y) })
}

// Shades returns the colours for grid cells, from the lowest count to the highest, and a function
// that returns a count's index in them, or -1 for an empty cell.
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
