package page

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// hostile is a text that becomes markup wherever it is not escaped.
const hostile = `x"'><img src=x onerror=alert(1)></script><svg onload=alert(2)>`

// pageOf returns a page with two databases: one has a hostile tag, and every figure kind occurs.
func pageOf() Page {
	value := func(v float64) table.Cell { return table.Cell{Text: fmt.Sprint(v), Value: &v} }
	rowOf := func(section, name string, a, b float64) table.Line {
		return table.Line{Name: name, Unit: "ms", Definition: "what " + name + " means " + hostile, Section: section, Cells: []table.Cell{value(a), value(b)}}
	}
	p := Page{
		Title: "A report " + hostile, Description: "Described " + hostile, Valid: true,
		Headline: headlineOf(),
		Table: &table.Table{
			Columns: []table.Header{{Tag: "etcd", Text: "etcd"}, {Tag: hostile, Text: hostile}},
			Rows: []table.Line{
				rowOf("First", "THROUGHPUT", 30, 4), rowOf("First", "LATENCY", 2, 5), rowOf("First", "FAILED", 0, 0),
				rowOf("Second", "CPU", 1, 2), rowOf("Third", "DISK", 7, 8), rowOf("Third", "DISK "+hostile, 7, 8),
			},
			Notes: []string{"a note " + hostile},
		},
		Errors:   []Errors{{Of: hostile, Kinds: []ErrorKind{{Class: hostile, Count: 3, First: hostile, Messages: []string{hostile}}}}},
		Accounts: []Account{{Of: hostile, Facts: []Fact{{Name: hostile, Text: hostile}}}},
		Commands: []string{"dbtester analyze '" + hostile + "'"},
	}
	for _, f := range figures() {
		p.Figures = append(p.Figures, Figure{Figure: f, Alt: "About " + f.Title})
	}
	return p
}

// headlineOf is a first screen with hostile texts in every place.
func headlineOf() *headline.Headline {
	one, two := 1.0, 2.0
	value := func(v float64) headline.PointValue {
		return headline.PointValue{Value: &v, Text: fmt.Sprint(v), Low: &one, High: &two, N: 3}
	}
	values := headline.PointValues{Throughput: value(30), P99: value(4), Max: headline.PointValue{Text: "not answered " + hostile}, Valid: true}
	return &headline.Headline{
		What: "what ran " + hostile, Grade: headline.Grade{Letter: "C", Use: "a look", Text: "each ran once " + hostile},
		Points: headline.Points{Of: "clients", Columns: []string{"etcd", hostile}, Rows: []headline.Point{{Label: "10 " + hostile, Cells: []headline.PointValues{values, values}}}},
		Facts:  headline.Facts{Columns: []string{"etcd", hostile}, Rows: []headline.Fact{{Name: "longest time without an answer", Short: "longest pause", Texts: []string{"7 s", hostile}}}},
		Doubts: []headline.Doubt{
			{Reason: headline.Reason{Code: "client saturated", Text: "could matter " + hostile}, Could: true},
			{Reason: headline.Reason{Code: "shared host", Text: hostile}},
		},
		Verdict: "etcd answered more " + hostile, Trust: headline.Trust{Text: "weakened " + hostile, Reasons: []headline.Reason{{Code: "shared host", Text: hostile}}},
		Unequal: []string{"fsync: " + hostile}, Columns: []headline.Column{{Text: "etcd", Trials: 3, Valid: true}, {Text: hostile, Trials: 1}},
		Rows: []headline.Row{{Name: "throughput", Definition: hostile, Cells: []headline.Cell{
			{Text: "2/s", Value: &two, Marks: []string{run.UnsteadyMark}, Spread: "1 .. 3/s, n 3"}, {Text: "1/s " + hostile, Value: &one, Of: hostile},
		}}},
	}
}

// figures are two that share the time axis, and one of each other kind.
func figures() []figure.Figure {
	seconds, slow, fast := []float64{}, []float64{}, []float64{}
	for i := range 60 {
		seconds, slow, fast = append(seconds, float64(i)), append(slow, 100+float64(i)), append(fast, 2000-10*float64(i))
	}
	timed := func(name string, y []float64) figure.Figure {
		return figure.Figure{
			Name: name, Title: name + " " + hostile, Kind: figure.Lines, X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Rate", Unit: "requests/s"},
			Series: []figure.Series{{Name: "etcd", Key: 1, X: seconds, Y: y}, {Name: hostile, Key: 2, Dash: figure.Dashed, X: seconds, Y: fast, Low: slow, High: fast}},
			Steps:  []figure.Boundary{{X: 20, Label: "10 clients " + hostile, Key: 2}}, Notes: []string{"noted " + hostile, "second"}, Band: "min to max",
			Events: []figure.Event{{X: 5, Kind: "leader lost", N: 2}, {X: 9, Kind: "leader lost"}, {X: 12, Kind: "fault " + hostile}},
		}
	}
	grid := &figure.Grid{X: []float64{0, 20, 40, 60}, Y: []float64{1, 10, 100}, Counts: [][]float64{{5, 0}, {50, 3}, {0, 9}}, Of: "requests"}
	one := []float64{1, 10, 100}
	panels := timed("PANELS", slow)
	panels.Panels = []string{"etcd", "consul"}
	panels.Series[1] = figure.Series{Name: "consul", Key: 2, Panel: 1, X: seconds, Y: fast}
	panels.Series = append(panels.Series, figure.Series{Name: "etcd #2", Key: 1, Detail: true, Trial: 2, X: seconds, Y: slow})
	panels.Grey = []figure.Stretch{{From: 29.7, To: 30.1, Panel: 1, Key: 2, Text: "stall, " + hostile}, {From: 40, To: 41, Panel: 1, Key: 2, Text: "elsewhere"}}
	boxes := []figure.Box{{Least: 1, Low: 2, High: 8, P99: 20, Most: 50}}
	all := []figure.Figure{
		timed("THROUGHPUT", slow), timed("CPU", fast),
		{Name: "HEAT", Title: "Heat", Kind: figure.Heat, X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true}, Grid: grid, Series: []figure.Series{{Name: "p50", Y: []float64{3, 8, 60}}}},
		{Name: "BARS", Title: "Bars", Kind: figure.Bars, Y: figure.Axis{Label: "Traffic", Unit: "bytes"}, Categories: []string{"etcd", hostile}, Series: []figure.Series{{Name: "sent", Y: []float64{5e6, math.NaN()}}}},
		{Name: "PERCENTILES", Title: "Percentiles", Kind: figure.Percentiles, X: figure.Axis{Label: "Percentile"}, Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true}, Series: []figure.Series{{Name: "etcd", X: []float64{0, 50, 90, 99.9}, Y: []float64{1, 2, 3, 40}}}},
		{Name: "CLIENTS", Title: "By clients", Kind: figure.Points, X: figure.Axis{Label: "Clients", Log: true}, Y: figure.Axis{Label: "Rate"}, Series: []figure.Series{{Name: "etcd", X: one, Y: []float64{900, 8000, 20000}, Uncertain: []bool{false, true, false}, Labels: []string{"one", "ten", "=many"}}}},
		panels,
		{Name: "BOXES", Title: "Boxes", Short: "Spread", Kind: figure.Bars, Y: figure.Axis{Label: "Latency", Unit: "ms", Log: true}, Categories: []string{"all requests"}, Series: []figure.Series{{Name: "etcd", Key: 1, Y: []float64{4}, Boxes: boxes}}},
		{Name: "DOTS", Title: "Dots", Kind: figure.Bars, Y: figure.Axis{Label: "Throughput", Unit: "requests/s"}, Categories: []string{"etcd", hostile}, Series: []figure.Series{
			{Name: "Throughput", Statistic: "median", Hues: []figure.Hue{{Key: 1}, {Key: 2, Variant: 1}}, Y: []float64{300, 200}},
			{Name: "trial 1", Detail: true, Trial: 1, Y: []float64{300, math.NaN()}}, {Name: "trial 2", Detail: true, Trial: 2, Y: []float64{400, 200}},
		}},
		{Name: "STAIRS", Title: "Stairs", Kind: figure.Stairs, X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Clients"}, Series: []figure.Series{{Name: "etcd", X: []float64{0, 20, 40}, Y: one}}},
		{Name: "EMPTY", Title: "Empty", Kind: figure.Lines, X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Nothing"}, Series: []figure.Series{{Name: "etcd"}}},
		{Name: "REPEATS", Title: "Repeats", Kind: figure.Points, X: figure.Axis{Label: "Start"}, Y: figure.Axis{Label: "Length"}, Panels: []string{"etcd", "consul"}, Series: []figure.Series{
			{Name: "fault", Key: 1, Loose: true, X: []float64{1, 20}, Y: []float64{2, 3}, Details: []string{"with " + hostile, "alone"}},
			{Name: "fault", Key: 1, Loose: true, Panel: 1, X: []float64{10}, Y: []float64{2}, Details: []string{"with a leader"}},
		}},
		{Name: "MORE", Title: "More", Kind: figure.Lines, X: figure.Axis{Label: "Second"}, Y: figure.Axis{Label: "Rate"}, Series: []figure.Series{{Name: "etcd", X: seconds, Y: slow}}},
	}
	for i := range len(all) - 1 {
		all[i].Main = true
	}
	return all
}

func written(t *testing.T, p Page) string {
	t.Helper()
	data, err := Write(p)
	if err != nil {
		t.Fatalf("write the page: %v", err)
	}
	return string(data)
}

// TestHostileTexts reads the page as bytes: no text in a report is markup, and the page names
// nothing that a browser would load.
func TestHostileTexts(t *testing.T) {
	text := written(t, pageOf())
	for _, bad := range []string{"<img", "onerror=alert(1)></script>", "<svg onload", "http://", "https://", "//cdn", "@import", "url("} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("the page has %q: %.200q", bad, text[max(0, i-100):])
		}
	}
	if !strings.Contains(text, ">2/s not steady<") {
		t.Error("the headline lacks the sign of a mark")
	}
	if n := strings.Count(text, "</script>"); n != len(figures())+1 {
		t.Errorf("want one script and the data of %d figures, got %d ends of scripts", len(figures()), n)
	}
}

func TestSameBytesTwice(t *testing.T) {
	first, second := written(t, pageOf()), written(t, pageOf())
	if first != second {
		t.Error("a page must have the same bytes when it is written again")
	}
}

func TestIDs(t *testing.T) {
	all := ids{}
	for name, want := range map[string]string{"LATENCY-MS": "row-latency-ms", "20 clients, 500/s due: Latency p99.9": "row-20-clients-500-s-due-latency-p99-9", `"><b>`: "row-b"} {
		if got := all.of("row", name); got != want {
			t.Errorf("want the id %q of %q, got %q", want, name, got)
		}
	}
	if got := all.of("row", "latency ms"); got != "row-latency-ms-2" {
		t.Errorf("a second name of one id must have a number, got %q", got)
	}
}

// A long line keeps its extremes, which a mean or every nth point would lose.
func TestThinnedKeepsExtremes(t *testing.T) {
	f := figure.Figure{Kind: figure.Lines}
	s := figure.Series{Name: "etcd"}
	for i := range 10_000 {
		y := 5.0
		switch i {
		case 3333:
			y = 900
		case 7777:
			y = 0.1
		case 8000:
			y = math.NaN()
		}
		s.X, s.Y, s.Low, s.High = append(s.X, float64(i)), append(s.Y, y), append(s.Low, y-1), append(s.High, y+1)
	}
	f.Series = []figure.Series{s}
	thin := thinned(f, 100)
	got := thin.Series[0]
	if len(got.X) > 200 || len(got.X) != len(got.Y) || len(got.Low) != len(got.X) || len(f.Series[0].X) != 10_000 {
		t.Fatalf("want at most 200 points and the figure unchanged, got %d, %d and %d", len(got.X), len(got.Low), len(f.Series[0].X))
	}
	for at, want := range map[float64]float64{3333: 900, 7777: 0.1} {
		found := false
		for i, x := range got.X {
			found = found || x == at && got.Y[i] == want
		}
		if !found {
			t.Errorf("the point %v of %v is lost", at, want)
		}
	}
	if len(thin.Notes) != 1 {
		t.Errorf("a note must tell what the page leaves out, got %q", thin.Notes)
	}
}

func TestNumbersAreShortAndRight(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234567: "1234567", 0.1 + 0.2: "0.3", 1234.56789: "1234.6", 98765.4321: "98765", 2e-7: "2e-07", math.Inf(1): "null", 1e12: "1e+12"} {
		if got := string(appendNumber(nil, v)); got != want {
			t.Errorf("want %s for %v, got %s", want, v, got)
		}
	}
}

// keep writes a file into the folder DBTESTER_PAGE_DIR, for inspection.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := os.Getenv("DBTESTER_PAGE_DIR")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatalf("keep a picture: %v", err)
	}
}

// On a dark page no text has a colour that is visible only on white.
func TestTextColorsFollowTheTheme(t *testing.T) {
	rules := palette()
	for key := range 8 {
		for variant := range 5 {
			c := figure.Series{Key: key + 1, Variant: variant}.TextColor()
			if !strings.Contains(rules, `.themed [fill="`+c+`"]{fill:var(`) || !strings.Contains(rules, "--c"+c[1:]+":"+lighter(c)+";") {
				t.Errorf("the text colour %s of key %d, variant %d is the same on a dark page", c, key+1, variant)
			}
		}
	}
}

// A card replaces the points, and its details and notes are behind a fold.
func TestCard(t *testing.T) {
	p := pageOf()
	p.Headline.Card = &abilities.Card{Head: []string{"longest", "etcd " + hostile}, Notes: []string{"settings " + hostile}}
	for range 5 {
		p.Headline.Card.Rows = append(p.Headline.Card.Rows, []string{"kill " + hostile, "2 s " + hostile}, []string{"  new clients", "3 s"})
	}
	text := written(t, p)
	screen, rest, found := strings.Cut(text, `id="card"`)
	if !found {
		t.Fatal("the page has no card")
	}
	for of, count := range map[string]int{
		`class="points card"`: 1, `>kill `: 5, `>new clients<`: 0, `<th scope="row">10 `: 0, // one row of points
		`<img`: 0,
	} {
		if n := strings.Count(screen, of); n != count {
			t.Errorf("the first screen has %q %d times, want %d", of, n, count)
		}
	}
	for _, want := range []string{`>10 rows<`, `<tr class="detail"><th scope="row">new clients</th><td>3 s</td></tr>`, `<li>settings `, `>longest pause<`} {
		if !strings.Contains(rest, want) {
			t.Errorf("below the first screen the page lacks %s", want)
		}
	}
}
