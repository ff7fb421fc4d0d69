package etcd

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// etcd limits a request, not a value: what it writes to its log for a put must
// not exceed --max-request-bytes. That entry is
//
//	header  { id: a varint of up to 10 bytes }   tag of 2 bytes, length, tag, id
//	put     { key, value }                       tag, length, and for both tag, length
//
// so the largest value depends on the key and, by a byte or two, on the id,
// which starts with bits of the id of the member asked.
const (
	defaultRequestBytes = 1536 << 10
	// limitKeySize is the key that Info.MaxValue reckons with: the size that
	// experiments have by default.
	limitKeySize = 256
	maxVarint    = 10
)

// MaxValue returns the largest value that every member surely takes under a key of
// keySize bytes.
func (o *Options) MaxValue(keySize int) int { return maxValue(o.requestBytes(), keySize) }

// requestBytes is the size that an entry of the log may have: the last one among
// the flags counts, as it does to etcd.
func (o *Options) requestBytes() int {
	size := defaultRequestBytes
	for _, f := range o.Flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		// etcd refuses what is no number; it is not for here to say.
		if n, err := strconv.Atoi(value); name == "max-request-bytes" && err == nil {
			size = n
		}
	}
	return size
}

// maxValue returns the largest value that every member surely accepts under a
// key of keySize bytes.
func maxValue(requestBytes, keySize int) int {
	return maxValueWithID(requestBytes, keySize, maxVarint)
}

// maxValueWithID is maxValue where the header's id takes idSize bytes. It counts
// down from the limit because a shorter value may have a shorter length field.
func maxValueWithID(requestBytes, keySize, idSize int) int {
	for size := requestBytes; size > 0; size-- {
		if entrySize(keySize, size, idSize) <= requestBytes {
			return size
		}
	}
	return 0
}

func entrySize(keySize, valueSize, idSize int) int {
	const headerField, putField = 100, 4
	header := protowire.SizeTag(1) + idSize
	put := protowire.SizeTag(1) + protowire.SizeBytes(keySize) +
		protowire.SizeTag(2) + protowire.SizeBytes(valueSize)
	return protowire.SizeTag(headerField) + protowire.SizeBytes(header) +
		protowire.SizeTag(putField) + protowire.SizeBytes(put)
}
