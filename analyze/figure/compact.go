package figure

import (
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// drawCompact draws f. With widths, each text is set to its measured width.
func drawCompact(f Figure, widths bool) (*compact, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	p := layout(f)
	c := &compact{width: float64(p.width), height: float64(p.height), widths: widths}
	c.state.color = color.Black
	pen{c}.rectangle(paper, box{0, p.width, 0, p.height})
	p.draw(c)
	slices.SortStableFunc(c.texts, func(a, b styled) int { return strings.Compare(a.look, b.look) })
	return c, nil
}

// compact is a canvas that writes short SVG: numbers in tenths of a point, lines relative to the
// previous position, and consecutive elements with equal attributes grouped. Texts come last, above
// all paths.
type compact struct {
	paths, texts  []styled
	width, height float64
	// widths sets each text to its measured width.
	widths bool
	state  inlineState
	saved  []inlineState
}

// styled is a path or a text: its position and appearance as attributes, and its content.
type styled struct{ tag, place, look, text string }

// joined writes elements, each followed by end. A group holds the attributes that consecutive
// elements have in common.
func joined(all []styled, end string) string {
	var b strings.Builder
	for first := 0; first < len(all); {
		one, last := all[first], first
		for last+1 < len(all) && all[last+1].tag == one.tag && all[last+1].look == one.look {
			last++
		}
		look := " " + one.look
		if last > first {
			b.WriteString("<g" + look + ">" + end)
			look = ""
		}
		for _, e := range all[first : last+1] {
			fmt.Fprintf(&b, "<%s %s%s", e.tag, e.place, look)
			if e.text == "" {
				b.WriteString("/>")
			} else {
				fmt.Fprintf(&b, ">%s</%s>", e.text, e.tag)
			}
			b.WriteString(end)
		}
		if last > first {
			b.WriteString("</g>" + end)
		}
		first = last + 1
	}
	return b.String()
}

// path adds a path with a look. A line and an area with the same path, one directly after the
// other, become one element. An area is drawn below its line by default; paint-order reverses this.
func (c *compact) path(data, look string) {
	place := `d="` + data + `"`
	if n := len(c.paths) - 1; n >= 0 && c.paths[n].place == place {
		before := &c.paths[n].look
		line, isLine := strings.CutPrefix(look, noFill)
		under, wasLine := strings.CutPrefix(*before, noFill)
		switch {
		case isLine && !wasLine && isFill(*before):
			*before += line
			return
		case !isLine && wasLine && isFill(look):
			*before = look + under + ` paint-order="stroke"`
			return
		}
	}
	c.paths = append(c.paths, styled{tag: "path", place: place, look: look})
}

// noFill is the text with which the look of a line begins.
const noFill = `fill="none"`

// isFill reports whether a look describes an area without a line.
func isFill(look string) bool { return !strings.Contains(look, " ") }

// inlineState is the state that Push saves. Only rotated texts are drawn under a rotation.
type inlineState struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	moved  vg.Point
	turned float64 // radians
}

var _ vg.Canvas = (*compact)(nil)

// SetLineWidth implements [vg.Canvas], as the methods below do.
func (c *compact) SetLineWidth(w vg.Length)               { c.state.width = w }
func (c *compact) SetLineDash(d []vg.Length, _ vg.Length) { c.state.dashes = d }
func (c *compact) SetColor(to color.Color)                { c.state.color = to }
func (c *compact) Rotate(radians float64)                 { c.state.turned += radians }
func (c *compact) Translate(by vg.Point)                  { c.state.moved = c.state.moved.Add(by) }
func (c *compact) Scale(float64, float64)                 {}
func (c *compact) Push()                                  { c.saved = append(c.saved, c.state) }
func (c *compact) DrawImage(vg.Rectangle, image.Image)    {}
func (c *compact) place(at vg.Point) (x, y float64) {
	return float64(at.X + c.state.moved.X), c.height - float64(at.Y+c.state.moved.Y)
}

func (c *compact) Pop() {
	c.state, c.saved = c.saved[len(c.saved)-1], c.saved[:len(c.saved)-1]
}

func (c *compact) Stroke(p vg.Path) {
	if c.state.width <= 0 {
		return
	}
	look := noFill + ` stroke="` + hex(c.state.color) + `"`
	if c.state.width != 1 {
		look += fmt.Sprintf(` stroke-width="%.4g"`, float64(c.state.width))
	}
	var dashes []string
	for _, d := range c.state.dashes {
		dashes = append(dashes, fmt.Sprintf("%.3g", float64(d)))
	}
	if len(dashes) > 0 {
		look += ` stroke-dasharray="` + strings.Join(dashes, " ") + `"`
	}
	c.path(pathData(p, c.place), look)
}

func (c *compact) Fill(p vg.Path) {
	// RGBA is premultiplied, so convert a veil to its own colour and an opacity.
	solid := color.NRGBAModel.Convert(c.state.color).(color.NRGBA)
	look := fmt.Sprintf(`fill="#%02x%02x%02x"`, solid.R, solid.G, solid.B)
	if solid.A != 0xff {
		look += fmt.Sprintf(` fill-opacity="%.2g"`, float64(solid.A)/0xff)
	}
	c.path(pathData(p, c.place), look)
}

func (c *compact) FillString(face font.Face, at vg.Point, s string) {
	if s == "" {
		return
	}
	x, y := c.place(at)
	turn := ""
	if c.state.turned != 0 {
		h, v := c.place(vg.Point{})
		turn = fmt.Sprintf(` transform="translate(%s %s) rotate(%.4g)"`, tenths(h), tenths(v), -c.state.turned*180/math.Pi)
		x, y = float64(at.X), -float64(at.Y)
	}
	look := fmt.Sprintf(`font-size="%.3g"`, float64(face.Font.Size))
	if face.Font.Weight > 0 {
		look += ` font-weight="700"`
	}
	look += ` fill="` + hex(c.state.color) + `"`
	if c.widths {
		turn += fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, tenths(float64(face.Width(s))))
	}
	c.texts = append(c.texts, styled{"text", fmt.Sprintf(`x="%s" y="%s"%s`, tenths(x), tenths(y), turn), look, escaped(s)})
}

// tenths formats a length rounded to a tenth of a point.
func tenths(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// pathData returns a path as data for an SVG path element; place converts positions.
func pathData(p vg.Path, place func(vg.Point) (x, y float64)) string {
	var b []byte
	var x, y int // pen position in tenths
	var last byte
	step := func(letter byte, at vg.Point) {
		h, v := place(at)
		toX, toY := int(math.Round(h*10)), int(math.Round(v*10))
		b, last = appendStep(b, last, letter, toX-x, toY-y)
		x, y = toX, toY
	}
	for i, c := range p {
		switch c.Type {
		case vg.MoveComp:
			step('m', c.Pos)
		case vg.LineComp:
			step('l', c.Pos)
		case vg.ArcComp: // only whole circles are drawn, starting at the pen position
			r := int(math.Round(float64(c.Radius) * 10))
			for _, across := range []int{-2 * r, 2 * r} {
				b, last = append(b, 'a'), 'a'
				b = append(appendTenths(b, r), ' ')
				b = append(appendTenths(b, r), " 0 0 1 "...)
				b = append(appendTenths(b, across), " 0"...)
			}
		case vg.CloseComp:
			b, last = append(b, 'z'), 'z'
			// The pen returns to the start of the subpath. Only rectangles follow.
			x, y = startOf(p[:i], place)
		}
	}
	return string(b)
}

// appendStep appends a relative move (m) or line (l), in tenths, and returns its command. Lines
// along an axis become h or v. A line after a line omits the letter, and a line without length is
// omitted. last is the previous command.
func appendStep(b []byte, last, letter byte, dx, dy int) ([]byte, byte) {
	switch {
	case letter == 'l' && dx == 0 && dy == 0:
		return b, last
	case letter == 'l' && dy == 0:
		return appendTenths(append(b, 'h'), dx), 'h'
	case letter == 'l' && dx == 0:
		return appendTenths(append(b, 'v'), dy), 'v'
	case letter != 'l' || last != 'l':
		b = append(b, letter)
	case dx >= 0:
		b = append(b, ' ')
	}
	b = appendTenths(b, dx)
	if dy >= 0 {
		b = append(b, ' ')
	}
	return appendTenths(b, dy), letter
}

// startOf returns the position, in tenths, of the last move in a path.
func startOf(p vg.Path, place func(vg.Point) (x, y float64)) (x, y int) {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Type == vg.MoveComp {
			h, v := place(p[i].Pos)
			return int(math.Round(h * 10)), int(math.Round(v * 10))
		}
	}
	return 0, 0
}

// appendTenths appends tenths as a decimal without a leading zero.
func appendTenths(b []byte, n int) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	if n >= 10 || n == 0 {
		b = strconv.AppendInt(b, int64(n/10), 10)
	}
	if n%10 != 0 {
		b = append(b, '.', byte('0'+n%10))
	}
	return b
}

func escaped(s string) string {
	var b strings.Builder
	// A strings.Builder does not fail.
	_ = xml.EscapeText(&b, []byte(printable(s)))
	return b.String()
}
