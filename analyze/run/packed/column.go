// Package packed keeps long runs' samples in little memory and without loss. Each metric is a
// column of numbers, stored as byte-encoded differences. A counter value takes two or three bytes,
// and an unchanged value almost nothing.
package packed

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Column is an append-only list of numbers that is read from its beginning. The zero Column is
// empty. Concurrent reads are safe unless values are appended.
type Column struct {
	data    []byte
	n       int
	last    float64
	repeats uint64 // repeats of last at the end, not yet written to data
}

// An entry starts with a variable-length integer. Its two lowest bits are its kind, the remaining
// bits its content.
const (
	entryWhole   = iota // difference from the previous whole number, zigzag
	entryRepeat         // further repeats of the previous number
	entryDecimal        // difference in millionths
	entryBits           // byte count of the rest: the bits that differ from the previous number
)

// millionths is the resolution for decimal numbers.
const millionths = 1e6

// wholeBelow bounds the numbers whose differences fit into an entry.
const wholeBelow = 1 << 53

func (c *Column) Len() int { return c.n }

func (c *Column) Append(v float64) {
	c.n++
	if c.n > 1 && math.Float64bits(v) == math.Float64bits(c.last) {
		c.repeats++
		return
	}
	c.flush()
	c.data = appendEntry(c.data, c.last, v)
	c.last = v
}

// Clip frees the spare memory.
func (c *Column) Clip() { c.data = slices.Clone(c.data) }

func (c *Column) flush() {
	if c.repeats > 0 {
		c.data = binary.AppendUvarint(c.data, c.repeats<<2|entryRepeat)
		c.repeats = 0
	}
}

// appendEntry appends v, encoded relative to last.
func appendEntry(b []byte, last, v float64) []byte {
	if whole := int64(v); math.Abs(v) < wholeBelow && math.Float64bits(float64(whole)) == math.Float64bits(v) {
		//lint:ignore SA4016 the two low bits are the kind of an entry, which is 0 here
		return binary.AppendUvarint(b, zigzag(whole-wholeOf(last))<<2|entryWhole)
	}
	if parts := millionthsOf(v); math.Float64bits(float64(parts)/millionths) == math.Float64bits(v) {
		return binary.AppendUvarint(b, zigzag(parts-millionthsOf(last))<<2|entryDecimal)
	}
	differ := math.Float64bits(v) ^ math.Float64bits(last)
	n := (bits.Len64(differ) + 7) / 8
	b = binary.AppendUvarint(b, uint64(n)<<2|entryBits)
	for range n {
		b = append(b, byte(differ))
		differ >>= 8
	}
	return b
}

// wholeOf returns a number without its decimals; 0 if it is too large.
func wholeOf(v float64) int64 {
	if math.Abs(v) < wholeBelow {
		return int64(v)
	}
	return 0
}

// millionthsOf returns a number in millionths, rounded; 0 if it is too large.
func millionthsOf(v float64) int64 {
	if math.Abs(v) < wholeBelow/millionths {
		return int64(math.Round(v * millionths))
	}
	return 0
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Reader reads a column from its beginning. Callers must not read more numbers than the column has.
type Reader struct {
	data    []byte
	last    float64
	repeats uint64 // times to return last again
	end     uint64 // repeats after the data
}

// Reader returns a reader for the numbers now in the column.
func (c *Column) Reader() Reader { return Reader{data: c.data, end: c.repeats} }

// Next returns the next number.
func (r *Reader) Next() float64 {
	if r.repeats == 0 {
		r.entry()
	}
	r.repeats--
	return r.last
}

// Skip skips n numbers.
func (r *Reader) Skip(n int) {
	for left := uint64(max(n, 0)); left > 0; {
		if r.repeats == 0 {
			r.entry()
		}
		passed := min(left, r.repeats)
		r.repeats -= passed
		left -= passed
	}
}

// entry decodes the next entry, which holds one number or repeats the last one.
func (r *Reader) entry() {
	if len(r.data) == 0 {
		// After the data, the last number repeats.
		r.repeats, r.end = max(r.end, 1), 0
		return
	}
	first, n := binary.Uvarint(r.data)
	r.data = r.data[n:]
	r.repeats = 1
	switch content := first >> 2; first & 3 {
	case entryWhole:
		r.last = float64(wholeOf(r.last) + unzigzag(content))
	case entryRepeat:
		r.repeats = content
	case entryDecimal:
		r.last = float64(millionthsOf(r.last)+unzigzag(content)) / millionths
	default:
		var differ uint64
		for i := range content {
			differ |= uint64(r.data[i]) << (8 * i)
		}
		r.data = r.data[content:]
		r.last = math.Float64frombits(math.Float64bits(r.last) ^ differ)
	}
}
