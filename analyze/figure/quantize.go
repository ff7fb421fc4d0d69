package figure

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"maps"
	"slices"
)

// shades are the colours of a picture, in buckets of colours that the eye hardly
// distinguishes.
type shades struct {
	buckets [1 << 15]bucket
	// used are the buckets with pixels, the most important first.
	used []int
}

// bucket is colours that are nearly the same.
type bucket struct {
	count, most int // pixels of the bucket, and of its most frequent colour
	color       rgb
}

// weight is how much a colour is missed. Text is grey and has few pixels, but a
// tint of it is seen.
func (b bucket) weight() int {
	if c := b.color.color(); c.R == c.G && c.G == c.B {
		return 10 * b.count
	}
	return b.count
}

// rgb is an opaque colour as one number.
type rgb uint32

func pixel(p []uint8) rgb { return rgb(p[0])<<16 | rgb(p[1])<<8 | rgb(p[2]) }

// bucket keeps the upper five bits of each channel.
func (c rgb) bucket() int { return int(c>>19&31<<10 | c>>11&31<<5 | c>>3&31) }

func (c rgb) color() color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

func newShades(picture *image.RGBA) *shades {
	s := &shades{}
	counts := countColors(picture)
	// In the order of colours, so that equals are resolved the same way each time.
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

// runEnd returns where the pixels of a row end that are equal to the first-th one.
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
		// Neighbours are mostly equal, so that runs are counted at once.
		first := 0
		for first < bounds.Dx() {
			next := runEnd(row, first, bounds.Dx())
			counts[pixel(row[4*first:])] += next - first
			first = next
		}
	}
	return counts
}

// paletted is the picture with a palette of at most so many colours, which makes
// its file several times smaller. Pixels of other colours, some on smoothed edges,
// take the nearest.
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
			if nearest := index[pixel(row[4*first:]).bucket()]; nearest != 0 { // as the picture is made
				for x := first; x < next; x++ {
					out[x] = nearest
				}
			}
			first = next
		}
	}
	return small
}

// Paletted returns a picture with at most so many colours, up to 256, which makes its file
// several times smaller. Other colours become the nearest of these.
func Paletted(picture *image.RGBA, colors int) *image.Paletted {
	return newShades(picture).paletted(picture, colors)
}
