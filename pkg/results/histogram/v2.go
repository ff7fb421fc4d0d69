package histogram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// V2 encodes histograms in HdrHistogram's V2 encoding, as bytes that, unlike those in logs, are
// neither compressed nor text: so a second costs little processor time. It keeps its memory for the
// next histogram, and is not safe for concurrent use.
type V2 struct {
	packed [maxDigits + 1]*hdrhistogram.PackedHistogram // by digits
}

// exactBits is, by digits, the number of bits up to which each value has its own bucket.
var exactBits = [maxDigits + 1]int{1: 5, 2: 8, 3: 11}

// Append appends an encoded histogram. It holds 1 ns to [MaxLatency] with one to three
// digits.
func (v *V2) Append(b []byte, h *hdrhistogram.Histogram) ([]byte, error) {
	if err := checkShape(h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures()); err != nil {
		return b, err
	}
	digits := int(h.SignificantFigures())
	if v.packed[digits] == nil {
		v.packed[digits] = hdrhistogram.NewPacked(1, int64(MaxLatency), digits)
	}
	p := v.packed[digits]
	p.Reset()
	p.MergeFrom(h)
	return appendV2(b, p.ForEachBucket, digits), nil
}

// checkShape returns an error if a histogram's shape differs from those in loads.
func checkShape(lowest, highest, digits int64) error {
	if lowest != 1 || highest != int64(MaxLatency) || digits < 1 || digits > maxDigits {
		return fmt.Errorf("a histogram must hold 1 to %d with 1 to %d digits, got %d to %d with %d", int64(MaxLatency), maxDigits, lowest, highest, digits)
	}
	return nil
}

// appendV2 appends the V2 encoding of buckets in rising order: a header, then each count as a
// variable-length integer, with a run of empty buckets as its negative length.
func appendV2(b []byte, buckets iter.Seq2[int64, int64], digits int) []byte {
	start := len(b)
	b = append(b, make([]byte, encodedHeaderSize)...)
	next := 0
	for value, count := range buckets {
		index := indexIn(value, exactBits[digits])
		switch empty := index - next; {
		case empty == 1:
			b = binary.AppendVarint(b, 0)
		case empty > 1:
			b = binary.AppendVarint(b, -int64(empty))
		}
		b = binary.AppendVarint(b, count)
		next = index + 1
	}
	header := b[start:]
	binary.BigEndian.PutUint32(header, encodingCookie)
	binary.BigEndian.PutUint32(header[4:], uint32(len(header)-encodedHeaderSize))
	binary.BigEndian.PutUint32(header[12:], uint32(digits))
	binary.BigEndian.PutUint64(header[16:], 1)
	binary.BigEndian.PutUint64(header[24:], uint64(MaxLatency))
	binary.BigEndian.PutUint64(header[32:], math.Float64bits(1)) // the conversion to doubles
	return b
}

// DecodeV2 fills h with a histogram that [V2.Append] encoded. It must have the shape of h. After an
// error h is empty.
func DecodeV2(data []byte, h *hdrhistogram.Histogram) error {
	h.Reset()
	err := decodeV2(data, h)
	if err != nil {
		h.Reset()
	}
	return err
}

func decodeV2(data []byte, h *hdrhistogram.Histogram) error {
	if len(data) < encodedHeaderSize || binary.BigEndian.Uint32(data) != encodingCookie || binary.BigEndian.Uint32(data[8:]) != 0 {
		return errors.New("a histogram must begin with the header of the V2 encoding")
	}
	if n, got := binary.BigEndian.Uint32(data[4:]), len(data)-encodedHeaderSize; int64(n) != int64(got) {
		return fmt.Errorf("the counts of a histogram must be the %d bytes of its header, got %d", n, got)
	}
	digits := int64(int32(binary.BigEndian.Uint32(data[12:])))
	if err := checkShape(int64(binary.BigEndian.Uint64(data[16:])), int64(binary.BigEndian.Uint64(data[24:])), digits); err != nil {
		return err
	}
	if digits != h.SignificantFigures() {
		return fmt.Errorf("the histogram must have %d digits, got %d", h.SignificantFigures(), digits)
	}
	exact := exactBits[digits]
	last := int64(indexIn(int64(MaxLatency), exact))
	index := int64(0)
	for b := data[encodedHeaderSize:]; len(b) > 0; {
		count, n := binary.Varint(b)
		switch {
		case n <= 0 || count < -last-1:
			return errors.New("a count of the histogram is no number of values")
		case count < 0:
			index -= count
		case index > last:
			return fmt.Errorf("the histogram must have at most %d buckets, got more", last+1)
		default:
			if err := h.RecordValues(valueIn(int(index), exact), count); err != nil {
				return err
			}
			index++
		}
		if index > last+1 {
			return fmt.Errorf("the histogram must have at most %d buckets, got more", last+1)
		}
		b = b[n:]
	}
	return nil
}
