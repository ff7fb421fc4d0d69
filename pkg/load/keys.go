package load

import (
	"encoding/binary"
	"strconv"
)

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

// appendValue appends the value of request i: size bytes that no compressor
// shrinks, different for every (seed, i) and the same whenever they are.
//
// The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014), started from a mix of both.
func appendValue(dst []byte, seed uint64, i int64, size int) []byte {
	state := mix64(seed ^ mix64(uint64(i)+golden))
	for ; size >= 8; size -= 8 {
		state += golden
		dst = binary.LittleEndian.AppendUint64(dst, mix64(state))
	}
	if size > 0 {
		state += golden
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], mix64(state))
		dst = append(dst, last[:size]...)
	}
	return dst
}

const golden = 0x9e3779b97f4a7c15

func mix64(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
