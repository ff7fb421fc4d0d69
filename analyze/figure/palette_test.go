package figure

import (
	"image/color"
	"math"
	"testing"
)

// vision maps linear red, green and blue to the colours seen with one colour blindness: Machado,
// Oliveira and Fernandes (2009), complete.
type vision struct {
	name   string
	matrix [3][3]float64
}

func visions() []vision {
	return []vision{
		{"normal", [3][3]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
		{"protanopia", [3][3]float64{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
		{"deuteranopia", [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
		{"tritanopia", [3][3]float64{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
	}
}

func linear(c color.RGBA) (out [3]float64) {
	for i, v := range []uint8{c.R, c.G, c.B} {
		s := float64(v) / 255
		if out[i] = s / 12.92; s > 0.04045 {
			out[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return out
}

// seen returns a colour in CIELAB as this vision sees it.
func (v vision) seen(c color.RGBA) [3]float64 {
	in := linear(c)
	var rgb [3]float64
	for i, row := range v.matrix {
		rgb[i] = min(max(row[0]*in[0]+row[1]*in[1]+row[2]*in[2], 0), 1)
	}
	f := func(t float64) float64 {
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	x := f((0.4124*rgb[0] + 0.3576*rgb[1] + 0.1805*rgb[2]) / 0.9505)
	y := f(luminance(rgb))
	z := f((0.0193*rgb[0] + 0.1192*rgb[1] + 0.9505*rgb[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func luminance(rgb [3]float64) float64 { return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2] }

func apartBy(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// Family colours are distinct for every vision, and visible on white paper.
func TestColoursOfFamiliesDiffer(t *testing.T) {
	const keys = 8
	for _, v := range visions() {
		for a := 1; a <= keys; a++ {
			for b := a + 1; b <= keys; b++ {
				if d := apartBy(v.seen(hue(a)), v.seen(hue(b))); d < 18 {
					t.Errorf("%s: colours %d and %d are %.1f apart, want 18", v.name, a, b, d)
				}
			}
		}
	}
	for key := 1; key <= keys; key++ {
		if contrast := 1.05 / (luminance(linear(hue(key))) + 0.05); contrast < 3 {
			t.Errorf("colour %d has a contrast of %.2f with paper, want 3", key, contrast)
		}
	}
}

// Shades that can be in one figure are as far apart as family colours: two for each of eight, or
// three for each of five.
func TestShadesOfFamiliesDiffer(t *testing.T) {
	for _, set := range []struct{ keys, variants int }{{8, 2}, {5, 3}} {
		var all []Series
		for key := range set.keys {
			for variant := range set.variants {
				all = append(all, Series{Key: key + 1, Variant: variant})
			}
		}
		for _, v := range visions() {
			for i, a := range all {
				for _, b := range all[:i] {
					if d := apartBy(v.seen(a.look().color), v.seen(b.look().color)); d < 18 {
						t.Errorf("%s: shade %d of colour %d and shade %d of colour %d are %.1f apart, want 18", v.name, a.Variant, a.Key, b.Variant, b.Key, d)
					}
				}
			}
		}
	}
}

// Shades in one family also differ, and the marker distinguishes lines with the same colour.
func TestShadesOfAFamilyDiffer(t *testing.T) {
	for _, v := range visions() {
		for key := 1; key <= 8; key++ {
			for a := range 5 {
				for b := range a {
					if d := apartBy(v.seen(shaded(key, a)), v.seen(shaded(key, b))); d < 6 {
						t.Errorf("%s: shades %d and %d of colour %d are %.1f apart, want 6", v.name, a, b, key, d)
					}
				}
			}
		}
	}
	looks := map[look]string{}
	for _, s := range []Series{{Name: "a", Key: 1}, {Name: "a #2", Key: 1, Variant: 1}, {Name: "a #3", Key: 1, Variant: 2}, {Name: "b", Key: 2}, {Name: "b #2", Key: 2, Variant: 1}} {
		if other, known := looks[s.look()]; known {
			t.Errorf("%s looks like %s", s.Name, other)
		}
		looks[s.look()] = s.Name
	}
}

// Heat map shades are equally large steps from light to dark, for every vision: neighbours differ,
// and darker is more.
func TestShadesOfHeatMapsAreOneScale(t *testing.T) {
	for _, v := range visions() {
		for i := 1; i < heatShades; i++ {
			lighter, darker := v.seen(shade(i-1)), v.seen(shade(i))
			if darker[0] > lighter[0]-2 {
				t.Errorf("%s: shade %d has the lightness %.1f after %.1f", v.name, i, darker[0], lighter[0])
			}
			if d := apartBy(lighter, darker); d < 6 {
				t.Errorf("%s: shades %d and %d are %.1f apart, want 6", v.name, i-1, i, d)
			}
		}
	}
}
