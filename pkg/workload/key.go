package workload

import "strconv"

// AppendKey appends the key for a number: decimal, padded to size bytes with leading zeros. A
// number with more digits than size makes a longer key.
func AppendKey(dst []byte, number int64, size int) []byte {
	var text [20]byte
	digits := strconv.AppendInt(text[:0], number, 10)
	for pad := size - len(digits); pad > 0; pad -= len(zeros) {
		dst = append(dst, zeros[:min(pad, len(zeros))]...)
	}
	return append(dst, digits...)
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// KeyNumber inverts AppendKey: it returns the number whose key has that size and is key, or false
// if there is no such number. Size must be at least 1.
func KeyNumber(key []byte, size int) (int64, bool) {
	if len(key) < size || len(key) > size && key[0] == '0' {
		return 0, false
	}
	n := int64(0)
	for _, c := range key {
		digit := int64(c) - '0'
		if digit < 0 || digit > 9 || n > (1<<63-1-digit)/10 {
			return 0, false
		}
		n = 10*n + digit
	}
	return n, true
}
