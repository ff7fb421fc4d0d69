package figure

import (
	"io"
	"testing"
)

// BenchmarkDraw draws the figures of a usual report and one for an hour.
func BenchmarkDraw(b *testing.B) {
	all := append(everyday(), long(true))
	for _, format := range []struct {
		name string
		draw func(io.Writer, Figure) error
	}{{"svg", SVG}, {"png", PNG}, {"inline", Inline}, {"csv", CSV}} {
		b.Run(format.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range all {
					if err := format.draw(io.Discard, f); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
