package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"iter"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// encoder makes a log line payload, with the same bytes as [hdrhistogram.Histogram.Encode]. Encode
// leaves more than a megabyte of garbage behind, mostly compressor tables, and a load writes a few
// lines every second: the longer it ran, the larger its heap became. An encoder keeps its buffers
// from the start, with room for any histogram. It is not safe for concurrent use.
type encoder struct {
	v2         V2
	plain      []byte
	compressed bytes.Buffer
	compressor *zlib.Writer
}

const (
	// A cookie's low byte is the word size, 1 << 4: counts are variable.
	encodingCookie    = uint32(hdrhistogram.V2EncodingCookieBase | 0x10)
	compressedCookie  = uint32(hdrhistogram.V2CompressedEncodingCookieBase | 0x10)
	encodedHeaderSize = 40
)

// newEncoder returns an encoder with room for a histogram with counts in every bucket.
func newEncoder() *encoder {
	buckets := bucketIndex(int64(MaxLatency)) + 1
	e := &encoder{plain: make([]byte, 0, encodedHeaderSize+3*buckets)}
	packed := hdrhistogram.NewPacked(1, int64(MaxLatency), Digits)
	for i := range buckets {
		// packed has no other way to make room; the count takes four bytes, as the counts of a
		// second may. Both are in range by construction.
		_ = packed.RecordValues(bucketValue(i), 1<<16)
	}
	packed.Compact()
	packed.Reset()
	e.v2.packed[Digits] = packed
	// This fails only for a level that does not exist.
	e.compressor, _ = zlib.NewWriterLevel(&e.compressed, zlib.BestCompression)
	return e
}

// append appends the encoded histogram, which is not empty.
func (e *encoder) append(b []byte, h *hdrhistogram.Histogram) ([]byte, error) {
	var err error
	if e.plain, err = e.v2.Append(e.plain[:0], h); err != nil {
		return b, err
	}
	return e.compress(b)
}

// appendBuckets appends the buckets in a histogram shaped like [New]; it has at least one.
func (e *encoder) appendBuckets(b []byte, buckets iter.Seq2[int64, int64]) ([]byte, error) {
	e.plain = appendV2(e.plain[:0], buckets, Digits)
	return e.compress(b)
}

// compress appends e.plain as compressed payload.
func (e *encoder) compress(b []byte) ([]byte, error) {
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
