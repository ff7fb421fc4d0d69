package etcd

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// etcd limits the size of a request, not of a value: the log entry of a put must not exceed
// --max-request-bytes. That entry is
//
//	header  { id: a varint, up to 10 bytes }     2-byte tag, length, tag, id
//	put     { key, value }                       tag, length, and for both tag, length
//
// so the largest value depends on the key and, by a byte or two, on the id, which starts with bits
// from the member id.
const (
	defaultRequestBytes = 1536 << 10
	// limitKeySize is the key size in bytes that Info.MaxValue assumes: the default for
	// experiments.
	limitKeySize = 256
	maxVarint    = 10
)

// MaxValue returns the largest value in bytes that every member surely accepts under a
// key of keySize bytes.
func (s *Server) MaxValue(keySize int) int { return maxValue(s.requestBytes(), keySize) }

// requestBytes returns the largest size of a log entry in bytes. As in etcd, the last of several
// flags counts.
func (s *Server) requestBytes() int {
	size := defaultRequestBytes
	for _, f := range s.Flags {
		name, value, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		// A value that is not a number is ignored here; etcd refuses it.
		if n, err := strconv.Atoi(value); name == "max-request-bytes" && err == nil {
			size = n
		}
	}
	return size
}

// maxValue returns the largest value in bytes under a key of keySize bytes and the longest id.
func maxValue(requestBytes, keySize int) int {
	return maxValueWithID(requestBytes, keySize, maxVarint)
}

// maxValueWithID returns maxValue for an id of idSize bytes. It counts down from the limit, because
// a shorter value may have a shorter length field.
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
