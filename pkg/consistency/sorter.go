package consistency

import (
	"cmp"
	"math/bits"
	"slices"
)

// sorter sorts touches by number and role. It keeps memory for sorting.
type sorter struct {
	other  []touch
	starts []int32 // by digit
}

const (
	// fewTouches or fewer are inserted one by one, and manyTouches or more are sorted by digits.
	// This helps with hot keys, whose numbers belong to requests at about the same time and so
	// differ in few bits.
	fewTouches  = 12
	manyTouches = 32
	// A digit has about as many values as there are touches, within bounds.
	leastDigit = 5 // bits
	mostDigit  = 11
	mostDigits = 4
	roleBits   = 3
)

func (s *sorter) sort(touches []touch) {
	switch {
	case len(touches) <= fewTouches:
		insert(touches)
		return
	case len(touches) >= manyTouches:
		least, most := touches[0].number, touches[0].number
		for n := range touches {
			least, most = min(least, touches[n].number), max(most, touches[n].number)
		}
		width := bits.Len64(uint64(most)-uint64(least)) + roleBits
		largest := min(max(bits.Len(uint(len(touches)))-1, leastDigit), mostDigit)
		if digits := (width + largest - 1) / largest; digits <= mostDigits {
			s.byDigits(touches, least, digits, (width+digits-1)/digits)
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

// insert sorts touches by insertion.
func insert(touches []touch) {
	for n := 1; n < len(touches); n++ {
		t, at := touches[n], n
		for ; at > 0; at-- {
			if before := &touches[at-1]; before.number < t.number || before.number == t.number && before.role <= t.role {
				break
			}
			touches[at] = touches[at-1]
		}
		touches[at] = t
	}
}

// byDigits sorts touches by digits of so many bits, the last digit first. Their numbers are at
// least least.
func (s *sorter) byDigits(touches []touch, least int64, digits, digit int) {
	s.other = slices.Grow(s.other[:0], len(touches))[:len(touches)]
	s.starts = slices.Grow(s.starts[:0], 1<<mostDigit)[:1<<mostDigit]
	starts, mask := s.starts[:1<<digit], uint64(1)<<digit-1
	from, to := touches, s.other
	for n := range digits {
		shift := n * digit
		at := func(t *touch) uint64 {
			return (uint64(t.number-least)<<roleBits | uint64(t.role)) >> shift & mask
		}
		clear(starts)
		for i := range from {
			starts[at(&from[i])]++
		}
		sum := int32(0)
		for d, count := range starts {
			starts[d] = sum
			sum += count
		}
		for i := range from {
			d := at(&from[i])
			to[starts[d]] = from[i]
			starts[d]++
		}
		from, to = to, from
	}
	if &from[0] != &touches[0] {
		copy(touches, from)
	}
}
