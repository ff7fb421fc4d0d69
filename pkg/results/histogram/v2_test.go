package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// libraryV2 returns a histogram as the library encodes it, without compression.
func libraryV2(t *rapid.T, h *hdrhistogram.Histogram) []byte {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatalf("encode the histogram: %v", err)
	}
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		t.Fatalf("decode the text: %v", err)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed[8:]))
	if err != nil {
		t.Fatalf("inflate: %v", err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("inflate: %v", err)
	}
	return plain
}

// TestV2AsLibrary: histograms of all resolutions are encoded as the library encodes them, and
// decoding gives the same histogram, whatever was in the memory before.
func TestV2AsLibrary(t *testing.T) {
	var v V2
	again := map[int]*hdrhistogram.Histogram{}
	for digits := 1; digits <= maxDigits; digits++ {
		again[digits] = hdrhistogram.New(1, int64(MaxLatency), digits)
	}
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.IntRange(1, maxDigits).Draw(t, "digits")
		h := hdrhistogram.New(1, int64(MaxLatency), digits)
		for range rapid.IntRange(1, 100).Draw(t, "values") {
			value := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, int64(MaxLatency))).Draw(t, "value")
			if err := h.RecordValues(value, rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, 1<<40)).Draw(t, "count")); err != nil {
				t.Fatalf("record the values: %v", err)
			}
		}
		got, err := v.Append([]byte("before"), h)
		if err != nil {
			t.Fatalf("encode the histogram: %v", err)
		}
		if want := libraryV2(t, h); !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("encoded as %x, the library encodes as %x", got, want)
		}
		if err := DecodeV2(got[len("before"):], again[digits]); err != nil || !again[digits].Equals(h) {
			t.Fatalf("decoded as another histogram, error %v", err)
		}
	})
}

// TestV2OfOtherShapes: data other than a load histogram is refused and leaves nothing behind.
func TestV2OfOtherShapes(t *testing.T) {
	var v V2
	if _, err := v.Append(nil, hdrhistogram.New(1, 1000, 3)); err == nil {
		t.Error("a histogram up to 1000 was encoded")
	}
	one := New()
	if err := one.RecordValue(12345); err != nil {
		t.Fatalf("record: %v", err)
	}
	good, err := v.Append(nil, one)
	if err != nil {
		t.Fatalf("encode the histogram: %v", err)
	}
	bad := func(name string, change func(b []byte) []byte) {
		h := New()
		if err := DecodeV2(change(bytes.Clone(good)), h); err == nil || h.TotalCount() != 0 {
			t.Errorf("%s: error %v and %d values, want an error and none", name, err, h.TotalCount())
		}
	}
	bad("nothing", func([]byte) []byte { return nil })
	bad("half a header", func(b []byte) []byte { return b[:20] })
	bad("another cookie", func(b []byte) []byte { b[0]++; return b })
	bad("two digits", func(b []byte) []byte { b[15] = 2; return b })
	bad("a shorter range", func(b []byte) []byte { b[31]--; return b })
	bad("more bytes than its header has", func(b []byte) []byte { return append(b, 2) })
	bad("a run beyond the last bucket", func(b []byte) []byte {
		b = append(b[:encodedHeaderSize], 0xff, 0xff, 0xff, 0x7f, 2)
		b[4], b[5], b[6], b[7] = 0, 0, 0, 5
		return b
	})
	bad("a count that is cut", func(b []byte) []byte { b[len(b)-1] |= 0x80; return b })
}
