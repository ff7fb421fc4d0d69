package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// maxInflated is the largest histogram decoded, in bytes: one in the finest resolution with
	// every bucket in use takes a tenth.
	maxInflated = 4 << 20
	// maxDigits is the finest resolution decoded, in significant digits. Each further digit costs
	// ten times the memory.
	maxDigits = 3
)

// checkHistogram returns why a compressed histogram must not be decoded: decoders allocate as much
// as its header and its compression request. The layout is HdrHistogram's V2 encoding, big endian.
func checkHistogram(text string) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	const frame = 8 // cookie, length
	if len(data) < frame {
		return errors.New("the histogram is incomplete")
	}
	z, err := zlib.NewReader(bytes.NewReader(data[frame:]))
	if err != nil {
		return err
	}
	defer z.Close()
	var header [40]byte // cookie, length, offset, digits, lowest, highest, ratio
	if _, err := io.ReadFull(z, header[:]); err != nil {
		return fmt.Errorf("the histogram's header is incomplete: %w", err)
	}
	length, digits := int32(binary.BigEndian.Uint32(header[4:])), int32(binary.BigEndian.Uint32(header[12:]))
	lowest, highest := int64(binary.BigEndian.Uint64(header[16:])), int64(binary.BigEndian.Uint64(header[24:]))
	switch {
	case digits < 1 || digits > maxDigits:
		return fmt.Errorf("significant digits of a histogram must be 1 to %d, got %d", maxDigits, digits)
	case lowest < 1 || highest < 2*lowest:
		return fmt.Errorf("range of a histogram must begin at 1 or more and span a factor of 2, got %d to %d", lowest, highest)
	case length < 0 || length > maxInflated:
		return fmt.Errorf("a histogram must be at most %d bytes, got %d", maxInflated, length)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, maxInflated+1))
	switch {
	case err != nil:
		return err
	case n > maxInflated:
		return fmt.Errorf("a histogram must be at most %d bytes, got more", maxInflated)
	case n < int64(length):
		return fmt.Errorf("the histogram is incomplete: %d of %d bytes", n, length)
	}
	return nil
}
