package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// The colours that are no database's.
var (
	ink      = color.RGBA{0x22, 0x22, 0x22, 0xff}
	soft     = color.RGBA{0x55, 0x55, 0x55, 0xff}
	grid     = color.RGBA{0xe3, 0xe3, 0xe3, 0xff}
	gridFine = color.RGBA{0xf2, 0xf2, 0xf2, 0xff}
	ground   = color.RGBA{0xef, 0xef, 0xef, 0xff}
	boundary = color.RGBA{0x99, 0x99, 0x99, 0xff}
	paper    = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// hue is the colour of a key from 1. The palette began as that of Okabe and Ito. It was
// moved until every colour has a contrast of at least 3:1 with white paper and no two
// are nearer than 18 in CIELAB, also as the common kinds of colour blindness see them.
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

// dark darkens c until small text of it is legible on white.
func dark(c color.RGBA) color.RGBA {
	return color.RGBA{uint8(float64(c.R) * 0.72), uint8(float64(c.G) * 0.72), uint8(float64(c.B) * 0.72), c.A}
}

// veil is c made translucent, for bands.
func veil(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 0x30} }

// look is what tells a series from the others, besides its dash.
type look struct {
	color color.RGBA
	shape int // of the marker, from 1
}

func (s Series) look() look {
	l := look{color: shaded(hue(s.Key), s.Variant), shape: s.Marker}
	if l.shape == 0 {
		l.shape = s.Key + s.Variant
	}
	return l
}

// sameRun reports whether two series are statistics of one thing.
func (s Series) sameRun(o Series) bool {
	return s.Key == o.Key && s.Variant == o.Variant && s.Marker == o.Marker
}

// shaded is the shade of a variant: the colour itself, then darker and lighter in turn.
// Black only gets lighter.
func shaded(c color.RGBA, variant int) color.RGBA {
	shades := []float64{0, -0.4, 0.35, -0.65, 0.6}
	if c == (color.RGBA{A: 0xff}) {
		shades = []float64{0, 0.25, 0.4, 0.55, 0.7}
	}
	by := shades[variant%len(shades)]
	if by < 0 {
		return mixed(c, color.RGBA{A: 0xff}, -by)
	}
	return mixed(c, paper, by)
}

// mixed is c with a share of another colour.
func mixed(c, other color.RGBA, share float64) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-share) + float64(b)*share)) }
	return color.RGBA{mix(c.R, other.R), mix(c.G, other.G), mix(c.B, other.B), c.A}
}

// pale is c for what covers only a part of its place.
func pale(c color.RGBA) color.RGBA { return mixed(c, paper, 0.62) }

// shapes counts the marker shapes; colours wrap around after as many
// keys, and the shapes then shift by one, so that a pair of both stays unique.
const shapes = 8

// outline is the marker of a shape from 1 around the origin, with about the area of a
// circle of radius r: a polygon, or nothing for the circle itself.
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

// ring is a regular polygon, or a star when inner is not 0.
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

// cross is a plus with thick arms, turned.
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
