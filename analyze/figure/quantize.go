package figure

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"maps"
	"slices"
)

// shades are the colours in a picture, in buckets of nearly indistinguishable colours.
type shades struct {
	buckets [1 << 15]bucket
	// used are the buckets with pixels, the most important first.
	used []int
}

// bucket holds nearly equal colours.
type bucket struct {
	count, most int // pixels in the bucket, and with its most frequent colour
	color       rgb
}

// weight is the importance of a colour. Text is grey and has few pixels, but a tint in it would be
// visible.
func (b bucket) weight() int {
	if c := b.color.color(); c.R == c.G && c.G == c.B {
		return 10 * b.count
	}
	return b.count
}

// rgb is an opaque colour as a number.
type rgb uint32

func pixel(p []uint8) rgb { return rgb(p[0])<<16 | rgb(p[1])<<8 | rgb(p[2]) }

// bucket keeps the upper five bits of each channel.
func (c rgb) bucket() int { return int(c>>19&31<<10 | c>>11&31<<5 | c>>3&31) }

func (c rgb) color() color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

func newShades(picture *image.RGBA) *shades {
	s := &shades{}
	counts := countColors(picture)
	// Sorted by colour, so that ties are always resolved the same way.
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		b := &s.buckets[c.bucket()]
		b.count += counts[c]
		if counts[c] > b.most {
			b.most, b.color = counts[c], c
		}
	}
	for i := range s.buckets {
		if s.buckets[i].count > 0 {
			s.used = append(s.used, i)
		}
	}
	slices.SortStableFunc(s.used, func(a, b int) int {
		return cmp.Compare(s.buckets[b].weight(), s.buckets[a].weight())
	})
	return s
}

// runEnd returns where the equal pixels end that begin at first.
func runEnd(row []uint8, first, width int) int {
	all := row[: 4*width : 4*width]
	same := binary.LittleEndian.Uint32(all[4*first:])
	twice := uint64(same)<<32 | uint64(same)
	x := first + 1
	for ; x+1 < width && binary.LittleEndian.Uint64(all[4*x:]) == twice; x += 2 {
	}
	for ; x < width && binary.LittleEndian.Uint32(all[4*x:]) == same; x++ {
	}
	return x
}

func countColors(picture *image.RGBA) map[rgb]int {
	counts := map[rgb]int{}
	bounds := picture.Bounds()
	for y := range bounds.Dy() {
		row := picture.Pix[y*picture.Stride:]
		// Adjacent pixels are mostly equal, so count whole runs.
		first := 0
		for first < bounds.Dx() {
			next := runEnd(row, first, bounds.Dx())
			counts[pixel(row[4*first:])] += next - first
			first = next
		}
	}
	return counts
}

// paletted converts the picture to at most colors colours, which makes its file several times
// smaller. Other colours, such as some on antialiased edges, become the nearest colour in the
// palette.
func (s *shades) paletted(picture *image.RGBA, colors int) *image.Paletted {
	var index [len(s.buckets)]uint8
	kept := min(colors, len(s.used))
	var palette color.Palette
	for i, u := range s.used[:kept] {
		palette = append(palette, s.buckets[u].color.color())
		index[u] = uint8(i)
	}
	for _, u := range s.used[kept:] {
		index[u] = uint8(palette.Index(s.buckets[u].color.color()))
	}
	small := image.NewPaletted(picture.Bounds(), palette)
	for y := range small.Rect.Dy() {
		row, out := picture.Pix[y*picture.Stride:], small.Pix[y*small.Stride:]
		for first := 0; first < small.Rect.Dx(); {
			next := runEnd(row, first, small.Rect.Dx())
			if nearest := index[pixel(row[4*first:]).bucket()]; nearest != 0 { // nearest colours are computed on demand
				for x := first; x < next; x++ {
					out[x] = nearest
				}
			}
			first = next
		}
	}
	return small
}

// Paletted converts a picture to at most colors colours, up to 256, which makes its file several
// times smaller. Other colours become the nearest colour in the palette.
func Paletted(picture *image.RGBA, colors int) *image.Paletted {
	return newShades(picture).paletted(picture, colors)
}
