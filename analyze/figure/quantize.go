package figure

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// paletteSize is enough for the colours of a figure and the smoothing of edges.
const paletteSize = 64

// paletted gives the picture a small palette, which makes its file several times
// smaller. Colours that differ by less than an eye can see are taken together;
// what remains beyond the most frequent of them is pixels of smoothed edges, which
// take the nearest colour.
func paletted(picture *image.RGBA) *image.Paletted {
	bounds := picture.Bounds()
	counts := countColors(picture)
	var buckets [1 << 15]bucket
	// In the order of colours, so that equals are resolved the same way each time.
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		b := &buckets[c.bucket()]
		b.count += counts[c]
		if counts[c] > b.most {
			b.most, b.color = counts[c], c
		}
	}
	var used []int
	for i := range buckets {
		if buckets[i].count > 0 {
			used = append(used, i)
		}
	}
	slices.SortStableFunc(used, func(a, b int) int { return cmp.Compare(buckets[b].count, buckets[a].count) })
	kept := used[:min(paletteSize, len(used))]
	colors := make(color.Palette, len(kept))
	for i, u := range kept {
		colors[i] = buckets[u].color.color()
		buckets[u].index = uint8(i)
	}
	for _, u := range used[len(kept):] {
		buckets[u].index = uint8(colors.Index(buckets[u].color.color()))
	}
	small := image.NewPaletted(bounds, colors)
	for y := range bounds.Dy() {
		row := picture.Pix[y*picture.Stride:]
		for x := range bounds.Dx() {
			small.Pix[y*small.Stride+x] = buckets[pixel(row[4*x:]).bucket()].index
		}
	}
	return small
}

// bucket is colours that are nearly the same.
type bucket struct {
	count, most int // pixels of the bucket, and of its most frequent colour
	color       rgb
	index       uint8
}

// rgb is an opaque colour as one number.
type rgb uint32

func pixel(p []uint8) rgb { return rgb(p[0])<<16 | rgb(p[1])<<8 | rgb(p[2]) }

// bucket keeps the upper five bits of each channel.
func (c rgb) bucket() int { return int(c>>19&31<<10 | c>>11&31<<5 | c>>3&31) }

func (c rgb) color() color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 0xff} }

func countColors(picture *image.RGBA) map[rgb]int {
	counts := map[rgb]int{}
	bounds := picture.Bounds()
	for y := range bounds.Dy() {
		row := picture.Pix[y*picture.Stride:]
		// Neighbours are mostly equal, so that runs are counted at once.
		last, run := pixel(row), 0
		for x := range bounds.Dx() {
			if c := pixel(row[4*x:]); c != last {
				counts[last] += run
				last, run = c, 0
			}
			run++
		}
		counts[last] += run
	}
	return counts
}
