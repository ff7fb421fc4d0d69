package figure

import (
	"bytes"
	"image/color"
	"math"
	"strings"
	"testing"
)

// heat returns latencies over that many seconds, with a pause in the middle.
func heat(seconds int) Figure {
	const perDecade = 15
	g := &Grid{Of: "requests"}
	for e := range 3*perDecade + 1 {
		g.Y = append(g.Y, math.Pow(10, float64(e)/perDecade-0.5))
	}
	r := noise(9)
	p50, p99 := Series{Name: "p50"}, Series{Name: "p99", Dash: Dashed}
	for i := range seconds + 1 {
		g.X = append(g.X, float64(i))
		if i == seconds {
			break
		}
		rows := make([]float64, len(g.Y)-1)
		level := 12 + 8*math.Sin(float64(i)/float64(seconds)*12)
		for range 4000 {
			row := int(level + 5*r.NormFloat64() + 1.5*r.ExpFloat64())
			rows[min(max(row, 0), len(rows)-1)]++
		}
		if i == seconds/2 {
			clear(rows)
			p50.Y, p99.Y = append(p50.Y, math.NaN()), append(p99.Y, math.NaN())
		} else {
			p50.Y, p99.Y = append(p50.Y, g.Y[int(level)+1]), append(p99.Y, g.Y[min(int(level)+14, len(rows))])
		}
		g.Counts = append(g.Counts, rows)
	}
	return Figure{
		Name: "LATENCY-HEAT-etcd", Kind: Heat, Title: "Write 1M keys: latency of every request, etcd",
		Subtitle: "The requests of each second by their latency",
		X:        Axis{Label: "Second"}, Y: Axis{Label: "Latency", Unit: "millisecond", Log: true},
		Grid: g, Series: []Series{p50, p99},
		Steps: []Boundary{{X: 0, Label: "1 client"}, {X: float64(seconds) / 3, Label: "10 clients"}, {X: float64(seconds) * 2 / 3, Label: "100 clients"}},
	}
}

// Every cell with a count is drawn in the shade for its count, and an empty one stays white.
func TestHeatShades(t *testing.T) {
	f := Figure{
		Name: "HEAT", Kind: Heat, Y: Axis{Log: true},
		Grid: &Grid{X: []float64{0, 1, 2}, Y: []float64{1, 10, 100}, Counts: [][]float64{{1, 0}, {10, 1000}}, Of: "requests"},
	}
	p := layout(f)
	picture, err := p.picture(72)
	if err != nil {
		t.Fatalf("draw the picture: %v", err)
	}
	at := func(x, y float64) color.RGBA {
		return picture.RGBAAt(int(p.plot.horizontal(x)), int(p.height-p.plot.vertical(y)))
	}
	for _, cell := range []struct {
		x, y float64
		want color.RGBA
	}{
		{.3, 4, shade(0)}, {.3, 25, paper}, {1.3, 4, shade(heatShades / 3)}, {1.3, 40, shade(heatShades - 1)},
	} {
		if got := at(cell.x, cell.y); got != cell.want {
			t.Errorf("at %v, %v: %v, want %v", cell.x, cell.y, got, cell.want)
		}
	}
	light := math.Inf(1)
	for i := range heatShades {
		c := shade(i)
		luminance := .3*float64(c.R) + .59*float64(c.G) + .11*float64(c.B)
		if luminance >= light {
			t.Errorf("shade %d is not darker than the one before", i)
		}
		light = luminance
	}
}

func TestHeatCSV(t *testing.T) {
	f := Figure{
		Name: "HEAT", Kind: Heat, X: Axis{Label: "Second"}, Y: Axis{Unit: "ms", Log: true},
		Grid:   &Grid{X: []float64{0, 1, 2}, Y: []float64{1, 10, 100}, Counts: [][]float64{{1, 0}, {10, 1000}}, Of: "requests"},
		Series: []Series{{Name: "p50", Y: []float64{3, math.NaN()}}},
	}
	var b bytes.Buffer
	if err := CSV(&b, f); err != nil {
		t.Fatalf("write the figure as CSV: %v", err)
	}
	const want = "Second,p50,requests from 1 to 10 ms,requests from 10 to 100 ms\n0,3,1,0\n1,,10,1000\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestHeatCheck(t *testing.T) {
	for name, g := range map[string]*Grid{
		"has no grid": nil,
		"do not":      {X: []float64{0, 0}, Counts: [][]float64{{}}},
		"columns":     {X: []float64{0, 1}},
		"rows":        {X: []float64{0, 1}, Y: []float64{1, 2}, Counts: [][]float64{{}}},
		"counts":      {X: []float64{0, 1}, Y: []float64{1, 2}, Counts: [][]float64{{-1}}},
		"shades":      {Least: 2, Most: 1},
	} {
		if err := (Figure{Name: "HEAT", Kind: Heat, Grid: g}).check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
