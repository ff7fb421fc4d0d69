package figure

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestAnyFigureDraws draws figures with any data, ends and kinds: accepted figures give valid XML
// without NaN or infinity.
func TestAnyFigureDraws(t *testing.T) {
	value := rapid.OneOf(
		rapid.Float64(), rapid.Float64Range(-10, 1000), rapid.Float64Range(0, 100),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1, 100, 1e300, -1e300, 1e100, -1e100, 1e-100, 5e-324}))
	axis := rapid.Custom(func(t *rapid.T) Axis {
		return Axis{
			Label: rapid.String().Draw(t, "label"), Unit: rapid.SampledFrom([]string{"", "bytes", "s", "ms"}).Draw(t, "unit"),
			Log: rapid.Bool().Draw(t, "log"),
			Min: rapid.Ptr(rapid.Float64Range(-100, 100), true).Draw(t, "min"), Max: rapid.Ptr(rapid.Float64Range(-100, 1e6), true).Draw(t, "max"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		f := Figure{
			Name: "ANY", Title: rapid.String().Draw(t, "title"), Kind: Kind(rapid.IntRange(int(Lines), int(Heat)).Draw(t, "kind")),
			X: axis.Draw(t, "x"), Y: axis.Draw(t, "y"),
			Steps: []Boundary{{X: value.Draw(t, "step"), Label: "step", Key: 1}},
		}
		n := rapid.IntRange(0, 5).Draw(t, "points")
		if f.Kind == Bars {
			f.Categories = rapid.SliceOfN(rapid.String(), n, n).Draw(t, "categories")
		}
		if f.Kind == Heat {
			f.Grid = &Grid{
				X: edges(n, rapid.Float64Range(0.1, 10).Draw(t, "width")), Y: edges(2, rapid.Float64Range(1e-3, 100).Draw(t, "height")),
				Counts: rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 1e12), 2, 2), n, n).Draw(t, "counts"), Of: "requests",
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "series") {
			values := rapid.SliceOfN(value, n, n)
			f.Series = append(f.Series, Series{
				Name: rapid.String().Draw(t, "name"), Key: rapid.IntRange(0, 20).Draw(t, "key"),
				X: values.Draw(t, "xs"), Y: values.Draw(t, "ys"), Low: values.Draw(t, "low"), High: values.Draw(t, "high"),
			})
		}
		if f.check() != nil {
			return
		}
		var b bytes.Buffer
		if err := SVG(&b, f); err != nil {
			t.Fatalf("draw the figure as SVG: %v", err)
		}
		decoder := xml.NewDecoder(&b)
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				if bytes.Contains([]byte(a.Value), []byte("NaN")) || bytes.Contains([]byte(a.Value), []byte("Inf")) {
					t.Fatalf("%s of a %s is %.100q", a.Name.Local, start.Name.Local, a.Value)
				}
			}
		}
	})
}

// edges are the edges between n cells from 0 on.
func edges(n int, width float64) []float64 {
	var out []float64
	for i := range n + 1 {
		out = append(out, float64(i)*width)
	}
	return out
}
