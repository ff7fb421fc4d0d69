package requests

import "github.com/coreos/dbtester/pkg/workload"

// AppendKey appends the key with a number in a load. The key is load.KeySize bytes long, or
// longer if its number is.
func AppendKey(dst []byte, load *workload.Load, number int64) []byte {
	if load.SameKey {
		return appendSameKey(dst, load.KeySize)
	}
	return workload.AppendKey(dst, number, load.KeySize)
}

// appendSameKey appends the one key in a load that uses the same key for every request.
func appendSameKey(dst []byte, size int) []byte {
	for range size {
		dst = append(dst, 'a')
	}
	return dst
}
