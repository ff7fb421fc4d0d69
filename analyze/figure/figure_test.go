package figure

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

var out = flag.String("out", "", "directory to keep the sample figures in, to look at them")

func TestWrite(t *testing.T) {
	dir, figures := t.TempDir(), everyday()[1:3] // the others are drawn small, below
	if *out != "" {
		dir, figures = *out, samples()
	}
	for _, f := range figures {
		t.Run(f.Name, func(t *testing.T) {
			paths, err := Write(dir, dir, f, true)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, extension := range []string{".svg", ".png", ".csv"} {
				want = append(want, filepath.Join(dir, f.Name+extension))
			}
			if diff := cmp.Diff(want, paths); diff != "" {
				t.Fatalf("paths (-want +got):\n%s", diff)
			}
			for _, path := range paths[:2] {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatalf("stat the file: %v", err)
				}
				if info.Size() > 200<<10 {
					t.Errorf("%s has %d bytes, more than 200 KiB", path, info.Size())
				}
			}
		})
	}
}

// TestPictures draws every sample, small to be quick.
func TestPictures(t *testing.T) {
	for _, f := range samples() {
		p := layout(f)
		picture, err := p.picture(20)
		if err != nil {
			t.Fatalf("draw the picture: %v", err)
		}
		if len(newShades(picture).used) < 3 {
			t.Errorf("%s is empty", f.Name)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "..", "a/b", ".hidden"} {
		if _, err := Write(dir, dir, Figure{Name: name}, true); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	if _, err := Write(filepath.Join(dir, "none"), dir, Figure{Name: "A"}, true); err == nil {
		t.Error("a directory that is not there was accepted")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestCheck(t *testing.T) {
	one := []float64{1}
	for _, test := range []struct {
		name   string
		figure Figure
		want   string
	}{
		{"lengths", Figure{Series: []Series{{Name: "a", X: one}}}, `series "a" has 0 y values for 1 x values`},
		{"band", Figure{Series: []Series{{Name: "a", X: one, Y: one, Low: one}}}, `series "a" has a band of 1 and 0 values for 1 x values`},
		{"uncertain", Figure{Series: []Series{{Name: "a", X: one, Y: one, Uncertain: []bool{}}}}, `series "a" has 0 marks of uncertainty for 1 x values`},
		{"categories", Figure{Kind: Bars, Series: []Series{{Name: "a", Y: one}}}, `series "a" has 1 y values for 0 categories`},
		{"key", Figure{Series: []Series{{Name: "a", Key: -1}}}, `series "a" has the key -1`},
		{"kind", Figure{Kind: 99}, "unknown kind 99"},
		{"log end", Figure{Y: Axis{Label: "L", Log: true, Min: pointer(0)}}, `axis "L": cannot end at 0`},
		{"no number", Figure{Y: Axis{Label: "L", Max: pointer(math.NaN())}}, `axis "L": cannot end at NaN`},
		{"crossed ends", Figure{X: Axis{Min: pointer(2), Max: pointer(1)}}, "minimum 2 is not below maximum 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, draw := range []func(io.Writer, Figure) error{SVG, PNG, CSV} {
				err := draw(io.Discard, test.figure)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
			}
		})
	}
}

// TestDeterminism draws each figure several times concurrently: the bytes are the same,
// and the figure does not change.
func TestDeterminism(t *testing.T) {
	for _, f := range []Figure{percentiles()} {
		for name, draw := range map[string]func(io.Writer, Figure) error{"svg": SVG, "png": PNG, "csv": CSV} {
			results := make(chan []byte)
			for range 3 {
				go func() {
					var b bytes.Buffer
					if err := draw(&b, f); err != nil {
						t.Errorf("draw the figure: %v", err)
					}
					results <- b.Bytes()
				}()
			}
			first := <-results
			for range 2 {
				if !bytes.Equal(first, <-results) {
					t.Errorf("%s of %s differs between two drawings", name, f.Name)
				}
			}
		}
	}
}

func TestCSVGolden(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name   string
		figure Figure
		want   string
	}{
		{"series of different x", Figure{
			X: Axis{Label: "Time", Unit: "s"},
			Series: []Series{
				{Name: "etcd", X: []float64{1, 2, 3}, Y: []float64{0.5, nan, 1e6}},
				{Name: "Consul, old", X: []float64{3, 0}, Y: []float64{1e-12, 2}, Low: []float64{0, 1}, High: []float64{4, 3}, Uncertain: []bool{true, false}},
			},
		}, `Time (s),etcd,"Consul, old","Consul, old low","Consul, old high","Consul, old uncertain"
0,,2,1,3,false
1,0.5,,,,
2,,,,,
3,1000000,1e-12,0,4,true
`},
		{"an x twice", Figure{X: Axis{Label: "Keys"}, Series: []Series{{Name: "a", X: []float64{1, 1, 2}, Y: []float64{3, 4, 5}}}}, `Keys,a
1,3
1,4
2,5
`},
		{"bars", Figure{Kind: Bars, X: Axis{Label: "Traffic"}, Categories: []string{"in", "out"}, Series: []Series{{Name: "a", Y: []float64{1, nan}}, {Name: "b", Y: []float64{3, 4}}}}, `Traffic,a,b
in,1,3
out,,4
`},
		{"boxes", Figure{Kind: Bars, X: Axis{Label: "Part"}, Categories: []string{"all"}, Series: []Series{{Name: "a", Y: []float64{3}, Boxes: []Box{{1, 2, 4, 8, nan}}}}},
			"Part,a,a least,a p25,a p75,a p99,a most\nall,3,1,2,4,8,\n"},
		{"labels", Figure{Kind: Points, X: Axis{Label: "Rate"}, Series: []Series{{Name: "a", X: []float64{5}, Y: []float64{3}, Labels: []string{"10 clients"}, Partial: []bool{true}}}},
			"Rate,a,a label,a partial\n5,3,10 clients,true\n"},
		{"nothing", Figure{X: Axis{Label: "Time"}}, "Time\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := CSV(&b, test.figure); err != nil {
				t.Fatalf("write the figure as CSV: %v", err)
			}
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("csv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := PNG(&b, stepped()); err != nil {
		t.Fatalf("draw the figure as PNG: %v", err)
	}
	if !bytes.Contains(b.Bytes()[:100], []byte("pHYs\x00\x00\x22\x9a\x00\x00\x22\x9a\x01")) {
		t.Error("the resolution of 225 dots per inch, 8858 per metre, is not said")
	}
	picture, err := png.Decode(&b)
	if err != nil {
		t.Fatalf("decode the picture: %v", err)
	}
	if size := picture.Bounds().Size(); size.X != 1800 || size.Y < 1050 || size.Y > 1100 {
		t.Errorf("size %v, want 8 inches by about 4.7", size)
	}
	for _, at := range []image.Point{{2, 2}, {1797, 2}, {2, 1047}} {
		if r, g, b, _ := picture.At(at.X, at.Y).RGBA(); r+g+b != 3*0xffff {
			t.Errorf("%v is not white", at)
		}
	}
}

// TestPiecesLookLikeOneStroke compares a long line, solid and dashed, stroked at
// once and in pieces.
func TestPiecesLookLikeOneStroke(t *testing.T) {
	var wave []vg.Point
	for i := range 4 * pieceLength {
		x := float64(i) * 0.3
		wave = append(wave, vg.Point{X: vg.Length(x), Y: vg.Length(40 + 30*math.Sin(x/15))})
	}
	for name, dashes := range map[string][]vg.Length{"solid": nil, "dashed": {7, 4}} {
		t.Run(name, func(t *testing.T) {
			paint := func(wrap func(*vgimg.Canvas) vg.Canvas) []uint8 {
				canvas := vgimg.NewWith(vgimg.UseWH(120, 80), vgimg.UseDPI(dotsPerInch))
				pen{wrap(canvas)}.line(stroke{color: ink, width: 2, dashes: dashes}, wave...)
				return canvas.Image().(*image.RGBA).Pix
			}
			once := paint(func(c *vgimg.Canvas) vg.Canvas { return c })
			pieces := paint(func(c *vgimg.Canvas) vg.Canvas { return &raster{Canvas: c} })
			var different int
			for i := range once {
				if d := int(once[i]) - int(pieces[i]); d > 64 || d < -64 {
					different++
				}
			}
			if different > len(once)/2000 {
				t.Errorf("%d of %d values differ", different, len(once))
			}
		})
	}
}

func BenchmarkPNG(b *testing.B) {
	for _, bench := range []struct {
		name   string
		figure Figure
	}{{"60 s", overTime(60)}, {"3 x 3600", long(false)}, {"3 x 3600 with bands", long(true)}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if err := PNG(io.Discard, bench.figure); err != nil {
					b.Fatalf("draw the figure as PNG: %v", err)
				}
			}
		})
	}
}

func BenchmarkSVG(b *testing.B) {
	f := long(true)
	for b.Loop() {
		if err := SVG(io.Discard, f); err != nil {
			b.Fatalf("draw the figure as SVG: %v", err)
		}
	}
}
