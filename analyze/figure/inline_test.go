package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestInline draws every sample: the picture is complete XML, shorter than the file, and no
// text in it can become markup.
func TestInline(t *testing.T) {
	for _, f := range samples() {
		f.Title = `<script>alert(1)</script> "` + f.Title
		var short, long bytes.Buffer
		if err := errors.Join(Inline(&short, f), SVG(&long, f)); err != nil {
			t.Fatalf("draw %s: %v", f.Name, err)
		}
		if strings.Contains(short.String(), "<script") || strings.Contains(short.String(), "http:") || strings.Contains(short.String(), ` id="`) {
			t.Errorf("%s has markup of its title, an address or an id", f.Name)
		}
		if short.Len() >= long.Len() {
			t.Errorf("%s must be shorter than its file of %d bytes, got %d", f.Name, long.Len(), short.Len())
		}
		d := xml.NewDecoder(&short)
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s must be XML: %v", f.Name, err)
			}
		}
	}
}

func TestPathDataIsRelativeAndExact(t *testing.T) {
	var p vg.Path
	p.Move(vg.Point{X: 1, Y: 2})
	// Steps of 0.04 are below the precision, and must not add up to an error.
	for i := range 100 {
		p.Line(vg.Point{X: 1 + 0.04*vg.Length(i+1), Y: 2})
	}
	p.Close()
	p.Move(vg.Point{X: 0.5, Y: -3})
	got := pathData(p, func(at vg.Point) (x, y float64) { return float64(at.X), float64(at.Y) })
	if !strings.HasPrefix(got, "m1 2h.1h.1") || !strings.HasSuffix(got, "zm-.5-5") {
		t.Errorf("the path must be relative, and begin again where a part began, got %s", got)
	}
	if n := strings.Count(got, "h.1"); n != 40 {
		t.Errorf("want 40 steps of a tenth, got %d", n)
	}
	p = nil
	p.Move(vg.Point{X: 1, Y: 1})
	for _, to := range []vg.Point{{X: 1.5, Y: 2}, {X: 1, Y: 1.7}, {X: 3, Y: 4}, {X: 3, Y: 1}, {X: 3.01, Y: 1}, {X: 2, Y: 1}, {X: 1, Y: 3}} {
		p.Line(to)
	}
	if got, want := pathData(p, func(at vg.Point) (x, y float64) { return float64(at.X), float64(at.Y) }), "m1 1l.5 1-.5-.3 2 2.3v-3h-1l-1 2"; got != want {
		t.Errorf("the path is %s, want %s", got, want)
	}
}

func TestMarkerAndColor(t *testing.T) {
	if got := Marker(1, 4); got != "m4 0a4 4 0 0 1 -8 0a4 4 0 0 1 8 0z" {
		t.Errorf("the first marker must be a circle, got %s", got)
	}
	seen := map[string]int{}
	for key := 1; key <= shapes; key++ {
		look := Color(key) + Marker(key, 4)
		if seen[look] != 0 {
			t.Errorf("keys %d and %d look alike", key, seen[look])
		}
		seen[look] = key
	}
}

// A marker has its path once, with its rim below it, and consecutive markers with the same look
// are one path.
func TestInlineMarkers(t *testing.T) {
	f := Figure{Name: "MANY", Title: "Many", Kind: Points, X: Axis{Label: "Clients"}, Y: Axis{Label: "Rate"}}
	for key := range 5 {
		s := Series{Name: "etcd", Key: key + 1}
		for i := range 20 {
			s.X, s.Y, s.Uncertain = append(s.X, float64(i)), append(s.Y, float64(key*10+i%3)), append(s.Uncertain, i == 7)
		}
		f.Series = append(f.Series, s)
	}
	var b bytes.Buffer
	if err := Inline(&b, f); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Contains(text, `fill="none" stroke="#ffffff"`) {
		t.Error("a rim is an element of its own, want it below the marker in one")
	}
	for key := range 5 {
		look := `" fill="` + Color(key+1) + `" stroke="#ffffff" stroke-width="2" paint-order="stroke"/>`
		if n := strings.Count(text, look); n != 3 {
			t.Errorf("the markers of key %d are %d paths, want that of the legend, and those before and after the hollow one", key+1, n)
		}
	}
	if len(text) > 14_000 {
		t.Errorf("100 markers take %d bytes", len(text))
	}
}

// Translucent areas and dashed lines stay separate.
func TestMerged(t *testing.T) {
	line, veil := `fill="none" stroke="#000000"`, `fill="#0072b2" fill-opacity="0.2"`
	got := joined(merged([]styled{{"path", `d="m0 0h1"`, line, ""}, {"path", `d="m2 2h1"`, line, ""}, {"path", `d="m0 0h1v1z"`, veil, ""}, {"path", `d="m0 0h2v1z"`, veil, ""}}), "")
	want := `<path d="m0 0h1M2 2h1" ` + line + `/><g ` + veil + `><path d="m0 0h1v1z"/><path d="m0 0h2v1z"/></g>`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestElementsJoin(t *testing.T) {
	var c compact
	c.path("m0 0", `fill="none" stroke="#ffffff" stroke-width="2"`)
	c.path("m0 0", `fill="#0072b2"`)
	c.path("m1 1", `fill="#0072b2"`)
	c.path("m1 1", `fill="none" stroke="#000000"`)
	c.path("m2 2", `fill="none" stroke="#000000"`)
	c.path("m2 2", `fill="#0072b2" fill-opacity="0.2"`) // a veil does not cover the line
	c.path("m3 3", `fill="none" stroke="#000000"`)
	c.path("m4 4", `fill="none" stroke="#000000"`)
	want := `<path d="m0 0" fill="#0072b2" stroke="#ffffff" stroke-width="2" paint-order="stroke"/><path d="m1 1" fill="#0072b2" stroke="#000000"/>` +
		`<path d="m2 2" fill="none" stroke="#000000"/><path d="m2 2" fill="#0072b2" fill-opacity="0.2"/>` +
		`<g fill="none" stroke="#000000"><path d="m3 3"/><path d="m4 4"/></g>`
	if got := joined(c.paths, ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
