package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// Colours that do not belong to a database.
var (
	ink      = color.RGBA{0x22, 0x22, 0x22, 0xff}
	soft     = color.RGBA{0x55, 0x55, 0x55, 0xff}
	grid     = color.RGBA{0xe3, 0xe3, 0xe3, 0xff}
	gridFine = color.RGBA{0xf2, 0xf2, 0xf2, 0xff}
	ground   = color.RGBA{0xef, 0xef, 0xef, 0xff}
	tint     = color.RGBA{0xfb, 0xe6, 0xde, 0xff}
	boundary = color.RGBA{0x99, 0x99, 0x99, 0xff}
	paper    = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// hue returns the colour for a key from 1. The palette is based on that by Okabe and Ito. It was
// adjusted until every colour has a contrast of at least 3:1 with white paper and no two colours
// are closer than 18 in CIELAB, even with common colour blindness.
func hue(key int) color.RGBA {
	palette := [...]color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, // blue
		{0xe1, 0x52, 0x0e, 0xff}, // vermilion
		{0x18, 0xa2, 0x53, 0xff}, // green
		{0x95, 0x60, 0x8c, 0xff}, // purple
		{0x9b, 0x42, 0x15, 0xff}, // brown
		{0x09, 0x98, 0xfd, 0xff}, // sky blue
		{0x00, 0x00, 0x00, 0xff}, // black
		{0x7c, 0x7d, 0x71, 0xff}, // grey
	}
	return palette[(key-1)%len(palette)]
}

// dark darkens c until small text is legible on white.
func dark(c color.RGBA) color.RGBA {
	return color.RGBA{uint8(float64(c.R) * 0.72), uint8(float64(c.G) * 0.72), uint8(float64(c.B) * 0.72), c.A}
}

// veil returns c made translucent, for bands.
func veil(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 0x30} }

// look distinguishes a series from the others, apart from its dash.
type look struct {
	color color.RGBA
	shape int // marker shape, from 1
}

func (s Series) look() look {
	l := look{color: shaded(s.Key, s.Variant), shape: s.Marker}
	if l.shape == 0 {
		l.shape = s.Key + s.Variant
	}
	return l
}

// sameRun reports whether two series are statistics for the same run.
func (s Series) sameRun(o Series) bool {
	return s.Key == o.Key && s.Variant == o.Variant && s.Marker == o.Marker
}

// shaded returns the shade of a key's colour for a variant. The first two shades for all eight
// colours, and the first three for the first five, are as far apart as the colours themselves: 18
// in CIELAB for every common kind of vision. Further shades are only distinguishable within one
// colour, at least 6 apart.
func shaded(key, variant int) color.RGBA {
	shades := [...][2]color.RGBA{
		{{0x0b, 0x23, 0x3d, 0xff}, {0x84, 0xa4, 0xf9, 0xff}},
		{{0x82, 0x47, 0x39, 0xff}, {0xc4, 0xa0, 0x9e, 0xff}},
		{{0x8e, 0xcd, 0x52, 0xff}, {0x59, 0xdc, 0x00, 0xff}},
		{{0x82, 0x33, 0xfd, 0xff}, {0x68, 0x09, 0xab, 0xff}},
		{{0x4c, 0x24, 0x01, 0xff}, {0xf7, 0xad, 0x8c, 0xff}},
		{{0x01, 0x38, 0xaf, 0xff}, {0x8c, 0xcb, 0xfe, 0xff}},
		{{0x39, 0x2a, 0x25, 0xff}, {0x99, 0x99, 0x99, 0xff}},
		{{0x46, 0x49, 0x56, 0xff}, {0xbb, 0xbb, 0xb4, 0xff}},
	}
	place := (key - 1) % len(shades)
	c := hue(key)
	switch n := variant % 5; n {
	case 0:
		return c
	case 1, 2:
		return shades[place][n-1]
	case 3:
		return mixed(c, shades[place][0], 0.5)
	default:
		return mixed(c, shades[place][1], 0.5)
	}
}

// mixed mixes c with a share of another colour.
func mixed(c, other color.RGBA, share float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-share) + float64(b)*share)) }
	return color.RGBA{mix(c.R, other.R), mix(c.G, other.G), mix(c.B, other.B), c.A}
}

// pale lightens c for points that cover only a part of their interval.
func pale(c color.RGBA) color.RGBA { return mixed(c, paper, 0.62) }

// shapes counts the marker shapes. Colours repeat after the same number of keys, and the shapes then
// shift by one, so that each combination stays unique.
const shapes = 8

// outline returns the marker with a shape from 1 around the origin, with about the area of a circle
// with radius r: a polygon, or nil for the circle itself.
func outline(shape int, r vg.Length) []vg.Point {
	n := shape - 1
	switch (n + n/shapes) % shapes {
	case 1: // square
		return ring(4, math.Pi/4, r*1.25, 0)
	case 2: // triangle
		return ring(3, math.Pi/2, r*1.45, 0)
	case 3: // diamond
		return ring(4, 0, r*1.35, 0)
	case 4: // triangle pointing down
		return ring(3, -math.Pi/2, r*1.45, 0)
	case 5: // star
		return ring(5, math.Pi/2, r*1.6, r*0.7)
	case 6: // plus
		return cross(r, 0)
	case 7: // cross
		return cross(r, math.Pi/4)
	}
	return nil
}

// ring returns a regular polygon, or a star if inner is not 0.
func ring(corners int, turn float64, outer, inner vg.Length) []vg.Point {
	var points []vg.Point
	for i := range corners {
		points = append(points, polar(outer, turn+2*math.Pi*float64(i)/float64(corners)))
		if inner != 0 {
			points = append(points, polar(inner, turn+2*math.Pi*(float64(i)+0.5)/float64(corners)))
		}
	}
	return points
}

// cross returns a plus with thick arms, rotated by turn.
func cross(r vg.Length, turn float64) []vg.Point {
	arm, half := r*1.4, r*0.45
	reach := vg.Length(math.Hypot(float64(arm), float64(half)))
	slant := math.Atan2(float64(half), float64(arm))
	var points []vg.Point
	for i := range 4 {
		at := turn + math.Pi/2*float64(i)
		points = append(points,
			polar(reach, at-slant), polar(reach, at+slant), polar(half*math.Sqrt2, at+math.Pi/4))
	}
	return points
}

func polar(r vg.Length, angle float64) vg.Point {
	sin, cos := math.Sincos(angle)
	return vg.Point{X: r * vg.Length(cos), Y: r * vg.Length(sin)}
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
