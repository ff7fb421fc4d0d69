package load

import "strconv"

// appendKey appends the key of request i: its decimal number, padded with zeros
// to size bytes, longer only if the number is.
func appendKey(dst []byte, i int64, size int) []byte {
	var number [20]byte
	digits := strconv.AppendInt(number[:0], i, 10)
	for pad := size - len(digits); pad > 0; pad -= len(zeros) {
		dst = append(dst, zeros[:min(pad, len(zeros))]...)
	}
	return append(dst, digits...)
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// appendSameKey appends the one key of a load that uses the same key for every
// request.
func appendSameKey(dst []byte, size int) []byte {
	for range size {
		dst = append(dst, 'a')
	}
	return dst
}
