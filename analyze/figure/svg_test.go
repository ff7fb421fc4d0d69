package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
)

// element is one XML element in a drawing, its attributes and the text inside.
type element struct {
	name, text string
	attributes map[string]string
}

// parse reads a whole SVG, which must be valid XML. Elements have the attributes of the
// groups around them, too.
func parse(t *testing.T, svg []byte) []element {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	decoder.Strict = true
	var all, open []element
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("invalid XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			if n := len(open); n > 0 && open[n-1].name == "g" {
				e.attributes = maps.Clone(open[n-1].attributes)
			}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open, all = append(open, e), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += strings.Trim(string(token), "\n\t")
			}
		}
	}
}

func drawn(t *testing.T, f Figure) []element {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, f); err != nil {
		t.Fatalf("draw the figure as SVG: %v", err)
	}
	return parse(t, b.Bytes())
}

func texts(all []element) []string {
	var texts []string
	for _, e := range all {
		if e.name == "text" {
			texts = append(texts, e.text)
		}
	}
	return texts
}

// strokes are the paths stroked in the colour of a key as lines more than one segment wide, without
// markers, which are closed.
func strokes(all []element, key int) []element {
	return slices.DeleteFunc(slices.Clone(all), func(e element) bool {
		return e.name != "path" || strings.Contains(e.attributes["d"], "z") || !e.strokedIn(hue(key))
	})
}

// strokedIn reports whether a path is a line with a colour.
func (e element) strokedIn(c color.Color) bool { return e.attributes["stroke"] == hex(c) }

func (e element) dashed() bool { return e.attributes["stroke-dasharray"] != "" }

// places returns the absolute positions on a path without arcs.
func (e element) places(t *testing.T) (all [][2]float64) {
	t.Helper()
	var at, begun [2]float64
	for _, part := range regexp.MustCompile(`[a-zA-Z][^a-zA-Z]*`).FindAllString(e.attributes["d"], -1) {
		var steps []float64
		for _, text := range regexp.MustCompile(`-?[0-9]*\.?[0-9]+`).FindAllString(part[1:], -1) {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("number of a path: %v", err)
			}
			steps = append(steps, n)
		}
		switch part[0] {
		case 'm', 'l':
			for i := 0; i+1 < len(steps); i += 2 {
				at[0], at[1] = at[0]+steps[i], at[1]+steps[i+1]
				all = append(all, at)
			}
			if part[0] == 'm' {
				begun = at
			}
		case 'h', 'v':
			for _, step := range steps {
				axis := strings.IndexByte("hv", part[0])
				at[axis] += step
				all = append(all, at)
			}
		case 'z':
			at = begun
		default:
			t.Fatalf("a path has the command %q", part)
		}
	}
	return all
}

// points is the number of points in a path.
func (e element) points(t *testing.T) int {
	t.Helper()
	return len(e.places(t))
}

// unnamed is a figure with one series without a name, so without a legend.
func unnamed(x, y []float64) Figure {
	return Figure{Name: "PLAIN", Title: "Plain", Series: []Series{{X: x, Y: y}}}
}

func TestSVGTexts(t *testing.T) {
	got := texts(drawn(t, stepped()))
	for _, want := range []string{
		"Throughput with 1, 10 and 100 clients", "Throughput (requests/s)", "Time (s)",
		"etcd v3.6.16", "ZooKeeper 3.9.5", "Consul 1.22.1", "min to max of 5 trials",
		"1 client", "10 clients", "100 clients", "0", "10k", "50k", "60",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no text %q among %q", want, got)
		}
	}
}

func TestSVGAbout(t *testing.T) {
	f := overTime(60)
	f.Title = "<etcd> & \"co\"\x00\x1b\xff\ttitle"
	f.Series[0].Name = "a < b & c\x07"
	all := drawn(t, f)
	var title, role string
	for _, e := range all {
		switch e.name {
		case "title":
			title = e.text
		case "svg":
			role = e.attributes["role"]
		}
	}
	if title != "<etcd> & \"co\" title" || role != "img" {
		t.Errorf("title %q and role %q", title, role)
	}
	if !slices.Contains(texts(all), "a < b & c") {
		t.Error("the name of the series is lost")
	}
	for _, e := range all {
		if family := e.attributes["font-family"]; (family != "") != (e.name == "svg") {
			t.Errorf("%s %q has the font %q", e.name, e.text, family)
		}
	}
}

func TestGapsBreakLines(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name string
		y    []float64
		want []int // points in each piece
	}{
		{"whole", []float64{1, 2, 3, 4, 5}, []int{5}},
		{"one gap", []float64{1, 2, nan, 4, 5}, []int{2, 2}},
		{"ends", []float64{nan, 2, 3, 4, nan}, []int{3}},
		{"lone points are markers", []float64{1, nan, 3, nan, 5}, nil},
		{"infinite", []float64{1, 2, math.Inf(1), 4, 5}, []int{2, 2}},
		{"all", []float64{nan, nan, nan, nan, nan}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			for _, e := range strokes(drawn(t, unnamed([]float64{0, 1, 2, 3, 4}, test.y)), 1) {
				got = append(got, e.points(t))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("pieces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUncertainPointsAreDotted(t *testing.T) {
	f := unnamed([]float64{0, 1, 2, 3, 4}, []float64{1, 2, 3, 4, 5})
	f.Series[0].Uncertain = []bool{false, false, false, true, true}
	var got []string
	for _, e := range strokes(drawn(t, f), 1) {
		got = append(got, fmt.Sprintf("%d %v", e.points(t), e.dashed()))
	}
	if diff := cmp.Diff([]string{"3 false", "3 true"}, got); diff != "" {
		t.Errorf("points and dots of each piece (-want +got):\n%s", diff)
	}
}

// TestSampleStructure proves for every sample that nothing is drawn outside the page, that no
// number is lost, and that the legend does not cover the data.
func TestSampleStructure(t *testing.T) {
	for _, f := range samples() {
		t.Run(f.Name, func(t *testing.T) {
			all := drawn(t, f)
			p := layout(f)
			for _, e := range all {
				for name, value := range e.attributes {
					if strings.Contains(value, "NaN") || strings.Contains(value, "Inf") {
						t.Errorf("%s of a %s is %.80q", name, e.name, value)
					}
				}
				if e.name == "path" {
					inside(t, p, e)
				}
			}
			if got, want := slices.Contains(texts(all), "no data"), p.empty; got != want && f.Kind != Bars {
				t.Errorf("no data: drawn %v, want %v", got, want)
			}
			legendBottom := p.height - margin - p.legend.height
			if p.plot.top > legendBottom {
				t.Errorf("the plot ends at %v, above the bottom %v of the legend", p.plot.top, legendBottom)
			}
			if p.plot.height() < plotHeight && f.Kind != Bars {
				t.Errorf("the plot is only %v high", p.plot.height())
			}
		})
	}
}

// inside checks that all points on a path are on the page.
func inside(t *testing.T, p page, e element) {
	t.Helper()
	if strings.Contains(e.attributes["d"], "a") {
		return // arcs have flags among their numbers
	}
	for _, at := range e.places(t) {
		if at[0] < -0.1 || at[1] < -0.1 || at[0] > float64(p.width)+0.1 || at[1] > float64(p.height)+0.1 {
			t.Errorf("a path goes to %v on a page of %v by %v", at, p.width, p.height)
			return
		}
	}
}

// TestTextFits proves that no line in wrapped text is wider than the page, and that nothing in it
// is lost.
func TestTextFits(t *testing.T) {
	f := crowded()
	f.Title = strings.Repeat("A-word-without-any-space-", 20) + " end"
	p := layout(f)
	for _, line := range p.title {
		if width := titleType.width(line); width > p.width-2*margin {
			t.Errorf("a line of %v in a page of %v: %q", width, p.width, line)
		}
	}
	joined := strings.ReplaceAll(strings.Join(p.title, ""), " ", "")
	if want := strings.ReplaceAll(f.Title, " ", ""); joined != want {
		t.Errorf("title %q, want %q", joined, want)
	}
	for i, left := range p.legend.lefts {
		for _, e := range p.legend.entries[i*p.legend.rows : min((i+1)*p.legend.rows, len(p.legend.entries))] {
			right := margin + left + sampleWidth(f.Kind) + sampleGap + legendType.widest(e.lines)
			if right > p.width-margin {
				t.Errorf("%q ends at %v", e.lines, right)
			}
			if i+1 < len(p.legend.lefts) && right > margin+p.legend.lefts[i+1] {
				t.Errorf("%q runs into the next column", e.lines)
			}
		}
	}
}

func TestStepsAreLabelledWhereTheyBegin(t *testing.T) {
	p := layout(crowded())
	dropped := 0
	for _, s := range p.steps.all {
		if s.at < p.plot.left-slack || s.at > p.plot.right+slack {
			t.Errorf("step %q stands at %v, outside the plot", s.Label, s.at)
		}
		if s.row < 0 {
			dropped++
		}
	}
	if len(p.steps.all) != 18 || dropped != 0 {
		t.Errorf("%d steps, %d without a label", len(p.steps.all), dropped)
	}
	for i, a := range p.steps.all {
		for _, b := range p.steps.all[i+1:] {
			if a.row == b.row && a.text < b.text+stepType.width(b.Label) && b.text < a.text+stepType.width(a.Label) {
				t.Errorf("%q and %q overlap", a.Label, b.Label)
			}
		}
	}
}

func TestLegendMarksSeriesWithoutData(t *testing.T) {
	f := overTime(10)
	f.Series[0].Y = slices.Repeat([]float64{math.NaN()}, 10)
	if got := texts(drawn(t, f)); !slices.Contains(got, "etcd v3.6.16 mean (no data)") {
		t.Errorf("legend %q", got)
	}
}

func TestValuesWithoutAPlaceAreCounted(t *testing.T) {
	f := unnamed([]float64{1, 2, 3}, []float64{0, 5, -3})
	f.Y = Axis{Label: "Latency", Unit: "ms", Log: true}
	want := "Not drawn, because they lie outside the scale of Latency (ms): 2 of the points."
	if got := texts(drawn(t, f)); !slices.Contains(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
}

func TestBarsPrintTheirValues(t *testing.T) {
	got := texts(drawn(t, network()))
	for _, want := range []string{"5.10 GB", "7.20 GB", "11.1 GB", "1.40 GB", "270 MB", "no data", "Servers, received"} {
		if !slices.Contains(got, want) {
			t.Errorf("no text %q among %q", want, got)
		}
	}
}

// TestThinned proves that thinning keeps the visible points: the first and last point and the
// extremes in every column.
func TestThinned(t *testing.T) {
	p := layout(long(false))
	for _, s := range p.Series {
		points := p.plot.runs(s)[0].points
		kept := thinned(points)
		if len(kept) > 4*int(p.plot.width()+2) || len(kept) >= len(points) {
			t.Errorf("kept %d of %d points", len(kept), len(points))
		}
		if diff := cmp.Diff(extremes(points), extremes(kept)); diff != "" {
			t.Errorf("extremes of columns (-all +kept):\n%s", diff)
		}
	}
}

func extremes(points []vg.Point) map[int][2]vg.Length {
	columns := map[int][2]vg.Length{}
	for _, at := range points {
		c := int(math.Floor(float64(at.X)))
		e, ok := columns[c]
		if !ok {
			e = [2]vg.Length{at.Y, at.Y}
		}
		columns[c] = [2]vg.Length{min(e[0], at.Y), max(e[1], at.Y)}
	}
	return columns
}

func TestTextsHaveTheirWidth(t *testing.T) {
	for _, e := range drawn(t, network()) {
		if e.name != "text" || e.text != "Servers, received" {
			continue
		}
		want := tenths(float64(categoryType.width(e.text)))
		if got := e.attributes["textLength"]; got != want {
			t.Errorf("%q is to be %s wide, want %s", e.text, got, want)
		}
		return
	}
	t.Error("no such text")
}

// A part of a second is pale, few samples are dots: each word in a picture has one meaning.
func TestPartialPointsArePale(t *testing.T) {
	f := unnamed([]float64{0, 1, 2, 3}, []float64{1, 2, 2, 1})
	f.Series[0].Partial = []bool{true, false, false, true}
	f.Series[0].Uncertain = []bool{false, false, false, false}
	all := drawn(t, f)
	if full := strokes(all, 1); len(full) != 1 || full[0].points(t) != 2 {
		t.Errorf("%d lines in the full colour, want the one between the whole seconds", len(full))
	}
	c := pale(hue(1))
	faint := 0
	for _, e := range all {
		if e.name == "path" && e.strokedIn(c) {
			faint++
			if e.dashed() {
				t.Error("a part of a second is drawn with dashes")
			}
		}
	}
	if faint != 2 {
		t.Errorf("%d pale lines, want those to the first and the last second", faint)
	}
}

// With many events, their lines would hide the data.
func TestManyEventsHaveNoLines(t *testing.T) {
	for _, each := range []int{mostEventLines / 3, mostEventLines/3 + 1} {
		f := unnamed([]float64{0, 100}, []float64{1, 2})
		for _, kind := range []string{"leader lost", "snapshot", "fault"} {
			for i := range each {
				f.Events = append(f.Events, Event{X: 100 * (float64(i) + 0.5) / float64(each), Kind: kind})
			}
		}
		all := drawn(t, f)
		if got := texts(all); !slices.Contains(got, fmt.Sprintf("leader lost (%d)", each)) {
			t.Errorf("texts %q", got)
		}
		lined := slices.ContainsFunc(all, func(e element) bool { return e.name == "path" && e.strokedIn(mixed(soft, paper, 0.45)) })
		if want := 3*each <= mostEventLines; lined != want {
			t.Errorf("%d events: lines %v, want %v", 3*each, lined, want)
		}
	}
}

// Event kinds are in the legend with their numbers, and each event has a line.
func TestEventsAreMarked(t *testing.T) {
	f := unnamed([]float64{0, 10}, []float64{1, 2})
	f.Events = []Event{{X: 2, Kind: "leader lost"}, {X: 2.01, Kind: "leader lost"}, {X: 5, Kind: "snapshot"}, {X: 99, Kind: "later"}}
	all := drawn(t, f)
	if got := texts(all); !slices.Contains(got, "leader lost (2)") || !slices.Contains(got, "snapshot (1)") || slices.Contains(got, "later (1)") {
		t.Errorf("texts %q", got)
	}
	c := mixed(soft, paper, 0.45)
	lines := 0
	for _, e := range all {
		if e.name == "path" && e.strokedIn(c) {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("%d lines, want one for the two events of a moment and one for the other", lines)
	}
}

// A marker with an outline is one path whose outline lies below its area.
func TestMarkersAreOnePath(t *testing.T) {
	t.Parallel()
	all := drawn(t, unnamed([]float64{1, 2, 3}, []float64{1, 2, 1}))
	outlines, last := 0, ""
	for _, e := range all {
		if e.name != "path" {
			continue
		}
		if d := e.attributes["d"]; d == last {
			t.Errorf("path %s is written twice", d)
		} else {
			last = d
		}
		if e.attributes["paint-order"] == "stroke" {
			outlines++
			if e.attributes["fill"] != hex(hue(1)) || e.attributes["stroke"] != hex(paper) {
				t.Errorf("a marker has the look %v", e.attributes)
			}
		}
	}
	if outlines != 3 {
		t.Errorf("%d markers with an outline, want 3", outlines)
	}
}
