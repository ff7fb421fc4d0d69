package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"testing"
)

// histogramOf encodes a compressed histogram with its own header and some zeros.
func histogramOf(digits int32, highest int64, zeros int) string {
	var payload, out bytes.Buffer
	for _, v := range []any{uint32(0x1c849303), int32(zeros), int32(0), digits, int64(1), highest, float64(1)} {
		if err := binary.Write(&payload, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	payload.Write(make([]byte, zeros))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(payload.Bytes())
	z.Close()
	for _, v := range []uint32{0x1c849304, uint32(packed.Len())} {
		if err := binary.Write(&out, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	out.Write(packed.Bytes())
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestHistogramBombs(t *testing.T) {
	for name, h := range map[string]string{
		"many digits":  histogramOf(5, 1<<62, 0),
		"no digits":    histogramOf(0, 1<<40, 0),
		"large":        histogramOf(3, 1<<40, 64<<20),
		"no range":     histogramOf(3, 1, 0),
		"not a number": "AAAA",
	} {
		if _, err := parseLine("1.000,1.000,0.1," + h); err == nil {
			t.Errorf("%s: the histogram is decoded, want it refused", name)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("Tag=service:write:ok:step0:measure,1.000,1.000,0.1," + histogramOf(3, 1<<40, 3))
	f.Add("1.000,1.000,0.1," + histogramOf(5, 1<<62, 0))
	f.Fuzz(func(t *testing.T, line string) { _, _ = parseLine(line) }) // must end, without a panic
}
