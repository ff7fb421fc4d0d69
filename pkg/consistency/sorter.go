package consistency

import (
	"cmp"
	"math/bits"
	"slices"
)

// sorter sorts touches by number and role. It keeps memory for sorting.
type sorter struct{ other []touch }

const (
	// manyTouches or more are sorted by digits. This helps with a hot key, whose numbers belong
	// to requests at about the same time and differ in few digits.
	manyTouches = 96
	digit       = 10 // bits
	mostDigits  = 3
	roleBits    = 3
)

func (s *sorter) sort(touches []touch) {
	if len(touches) < 2 {
		return
	}
	if len(touches) >= manyTouches {
		least, most := touches[0].number, touches[0].number
		for n := range touches {
			least, most = min(least, touches[n].number), max(most, touches[n].number)
		}
		if width := bits.Len64(uint64(most)-uint64(least)) + roleBits; width <= mostDigits*digit {
			s.byDigits(touches, least, width)
			return
		}
	}
	slices.SortFunc(touches, func(a, b touch) int {
		if a.number != b.number {
			return cmp.Compare(a.number, b.number)
		}
		return int(a.role) - int(b.role)
	})
}

// byDigits sorts touches by digits, the last digit first. Their numbers are at least least; width is
// the number of bits, including those of the role, in which they differ from it.
func (s *sorter) byDigits(touches []touch, least int64, width int) {
	s.other = slices.Grow(s.other[:0], len(touches))[:len(touches)]
	from, to := touches, s.other
	for shift := 0; shift < width; shift += digit {
		at := func(t *touch) uint64 {
			return (uint64(t.number-least)<<roleBits | uint64(t.role)) >> shift & (1<<digit - 1)
		}
		var starts [1<<digit + 1]int32
		for n := range from {
			starts[at(&from[n])+1]++
		}
		for n := range 1 << digit {
			starts[n+1] += starts[n]
		}
		for n := range from {
			d := at(&from[n])
			to[starts[d]] = from[n]
			starts[d]++
		}
		from, to = to, from
	}
	if &from[0] != &touches[0] {
		copy(touches, from)
	}
}
