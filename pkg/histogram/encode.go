package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// encoder makes the payload of a log line, with the bytes that
// [hdrhistogram.Histogram.Encode] makes. That one leaves more than a megabyte of
// garbage behind, most of it a compressor's tables, and a load writes a few lines
// every second: the longer it ran, the larger its heap became. This one keeps its
// buffers, which suffice for any histogram, from the start. It is not safe for concurrent use.
type encoder struct {
	buckets    *hdrhistogram.PackedHistogram
	plain      []byte
	compressed bytes.Buffer
	compressor *zlib.Writer
}

const (
	// The low byte of a cookie is the word size, 1 << 4: counts are variable.
	encodingCookie    = uint32(hdrhistogram.V2EncodingCookieBase | 0x10)
	compressedCookie  = uint32(hdrhistogram.V2CompressedEncodingCookieBase | 0x10)
	encodedHeaderSize = 40
)

// newEncoder returns an encoder with room for a histogram that has
// counts in every bucket.
func newEncoder() *encoder {
	buckets := bucketIndex(int64(MaxLatency)) + 1
	e := &encoder{
		buckets: hdrhistogram.NewPacked(1, int64(MaxLatency), Digits),
		plain:   make([]byte, 0, encodedHeaderSize+3*buckets),
	}
	for i := range buckets {
		// It has no other way to make room; the count wants four bytes, as those of a
		// second may. Both are in range by construction.
		_ = e.buckets.RecordValues(bucketValue(i), 1<<16)
	}
	e.buckets.Compact()
	e.buckets.Reset()
	// It fails only for a level that does not exist.
	e.compressor, _ = zlib.NewWriterLevel(&e.compressed, zlib.BestCompression)
	return e
}

// append appends the encoded histogram, which is not empty and has the shape of
// [New].
func (e *encoder) append(b []byte, h *hdrhistogram.Histogram) ([]byte, error) {
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != int64(MaxLatency) || h.SignificantFigures() != Digits {
		return b, fmt.Errorf("it holds %d to %d with %d digits", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
	}
	e.encode(h)
	e.compressed.Reset()
	e.compressed.Write(make([]byte, 8)) // the compressed header, filled in below
	e.compressor.Reset(&e.compressed)
	if _, err := e.compressor.Write(e.plain); err != nil {
		return b, err
	}
	if err := e.compressor.Close(); err != nil {
		return b, err
	}
	packed := e.compressed.Bytes()
	binary.BigEndian.PutUint32(packed, compressedCookie)
	binary.BigEndian.PutUint32(packed[4:], uint32(len(packed)-8))
	return base64.StdEncoding.AppendEncode(b, packed), nil
}

// encode fills e.plain with the V2 encoding.
func (e *encoder) encode(h *hdrhistogram.Histogram) {
	e.buckets.Reset()
	e.buckets.MergeFrom(h)
	e.plain = appendV2(e.plain[:0], e.buckets, Digits)
}
