package cetcd

import "encoding/binary"

// Consul stores a 64-bit number, the flags, with every value. A value in etcd is that number as an
// unsigned varint (encoding/binary), followed by the value. Flags add up to 10 bytes, and 1 byte if
// they are 0. Keys that no proxy wrote cannot be read.

// encodeValue returns a stored value with its flags and room for size bytes, and the part with that
// room.
func encodeValue(flags uint64, size int) (stored, value []byte) {
	stored = make([]byte, 0, binary.MaxVarintLen64+size)
	stored = binary.AppendUvarint(stored, flags)
	n := len(stored)
	stored = stored[:n+size]
	return stored, stored[n:]
}

// decodeValue returns the flags and the value, and whether the form is valid.
func decodeValue(stored []byte) (flags uint64, value []byte, ok bool) {
	flags, n := binary.Uvarint(stored)
	if n <= 0 {
		return 0, nil, false
	}
	return flags, stored[n:], true
}
