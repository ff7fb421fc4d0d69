package figure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// dotsPerInch is the resolution of PNG pictures.
const dotsPerInch = 225

// PNG writes f as a picture with 225 dots per inch.
func PNG(w io.Writer, f Figure) error {
	if err := f.check(); err != nil {
		return err
	}
	p := layout(f)
	picture, err := p.picture(dotsPerInch)
	if err != nil {
		return fmt.Errorf("draw figure %s as png: %w", f.Name, err)
	}
	encoded, err := encode(picture)
	if err != nil {
		return fmt.Errorf("draw figure %s as png: %w", f.Name, err)
	}
	if _, err := w.Write(encoded); err != nil {
		return fmt.Errorf("write figure %s as png: %w", f.Name, err)
	}
	return nil
}

// picture draws the page at a resolution in dots per inch.
func (p *page) picture(dots int) (*image.RGBA, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(p.width, p.height), vgimg.UseDPI(dots))
	p.draw(&raster{Canvas: canvas})
	picture, ok := canvas.Image().(*image.RGBA)
	if !ok {
		return nil, fmt.Errorf("the library drew on %T", canvas.Image())
	}
	return picture, nil
}

// largestPNG is the size in bytes above which colours are reduced. Only an hour of noise has so
// many edges.
const largestPNG = 200_000

// encode makes a PNG file that includes its resolution.
func encode(picture *image.RGBA) ([]byte, error) {
	shades := newShades(picture)
	var b bytes.Buffer
	// Fast compression takes a fifth of the time, and files become a tenth larger.
	for _, try := range []struct {
		colors int
		level  png.CompressionLevel
	}{{256, png.BestSpeed}, {64, png.DefaultCompression}, {32, png.DefaultCompression}} {
		b.Reset()
		encoder := png.Encoder{CompressionLevel: try.level}
		if err := encoder.Encode(&b, shades.paletted(picture, try.colors)); err != nil {
			return nil, err
		}
		if b.Len() <= largestPNG {
			break
		}
	}
	return slices.Insert(b.Bytes(), headerEnd, resolution()...), nil
}

// headerEnd is where the first chunk in a PNG file, which has a fixed size, ends.
const headerEnd = 8 + 12 + 13

// resolution is the chunk with the dots per metre, which the encoder omits. Without it, a printer
// would print the picture at twice its intended size.
func resolution() []byte {
	const perMetre = dotsPerInch * 10000 / 254
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// raster strokes long lines in pieces, because the time per stroke grows quadratically with its
// points.
type raster struct {
	*vgimg.Canvas
	dashes []vg.Length
}

var _ vg.Canvas = (*raster)(nil)

// pieceLength is the number of points in a piece.
const pieceLength = 80

// SetLineDash implements [vg.Canvas].
func (r *raster) SetLineDash(dashes []vg.Length, offset vg.Length) {
	r.dashes = dashes
	r.Canvas.SetLineDash(dashes, offset)
}

// Stroke implements [vg.Canvas]. Pieces overlap by one segment, so that they join properly, and
// continue the dash pattern of the previous piece.
func (r *raster) Stroke(p vg.Path) {
	if len(p) <= pieceLength || !polyline(p) {
		r.Canvas.Stroke(p)
		return
	}
	var pattern, walked vg.Length
	for _, d := range r.dashes {
		pattern += d
	}
	for first := 0; first < len(p)-1; first += pieceLength - 2 {
		last := min(first+pieceLength, len(p))
		if pattern > 0 {
			r.Canvas.SetLineDash(r.dashes, vg.Length(math.Mod(float64(walked), float64(pattern))))
		}
		var piece vg.Path
		piece.Move(p[first].Pos)
		for i := first + 1; i < last; i++ {
			piece.Line(p[i].Pos)
			if i <= first+pieceLength-2 {
				walked += between(p[i-1].Pos, p[i].Pos)
			}
		}
		r.Canvas.Stroke(piece)
		if last == len(p) {
			break
		}
	}
	r.Canvas.SetLineDash(r.dashes, 0)
}

// polyline reports whether a path is a single open line.
func polyline(p vg.Path) bool {
	for i, c := range p {
		if i > 0 && c.Type != vg.LineComp {
			return false
		}
	}
	return true
}

func between(a, b vg.Point) vg.Length {
	return vg.Length(math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y)))
}
