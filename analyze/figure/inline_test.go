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

// TestInline draws every sample: the picture is whole XML, it is shorter than the file
// by a fifth, and no text in it can become markup.
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
		if short.Len() > long.Len()*4/5 {
			t.Errorf("%s must be shorter by a fifth than its file of %d bytes, got %d", f.Name, long.Len(), short.Len())
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
	if !strings.HasPrefix(got, "m1 2l0 0l.1 0l0 0l.1 0") || !strings.HasSuffix(got, "zm-.5-5") {
		t.Errorf("the path must be relative, and begin again where a part began, got %s", got)
	}
	if n := strings.Count(got, "l.1 0"); n != 40 {
		t.Errorf("want 40 steps of a tenth, got %d", n)
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
