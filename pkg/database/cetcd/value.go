package cetcd

import "encoding/binary"

// Consul keeps a number of 64 bits with every value, its flags. A value is stored
// in etcd as that number as an unsigned varint (encoding/binary), then the value:
// one byte more than the value without flags, up to ten with them. Keys stored by
// others than a proxy don't read back.

// encodeValue returns room for a value of size bytes behind its flags, and the
// part of it that the value goes into.
func encodeValue(flags uint64, size int) (stored, value []byte) {
	stored = make([]byte, 0, binary.MaxVarintLen64+size)
	stored = binary.AppendUvarint(stored, flags)
	n := len(stored)
	stored = stored[:n+size]
	return stored, stored[n:]
}

// decodeValue returns the flags and the value, and whether a proxy stored them.
func decodeValue(stored []byte) (flags uint64, value []byte, ok bool) {
	flags, n := binary.Uvarint(stored)
	if n <= 0 {
		return 0, nil, false
	}
	return flags, stored[n:], true
}
