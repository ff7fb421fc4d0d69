package load

import (
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// keyValue is memory for a request's key and value, owned by one client.
type keyValue struct{ key, value []byte }

// briefly computes the key and value in borrowed memory.
func briefly(memory []byte, s *step, req requests.Request) (key, value []byte) {
	b := requests.AppendKey(memory, &s.spec.Load, req.Key)
	n := len(b)
	b = s.work.AppendValue(b, req)
	return b[:n:n], b[n:]
}

// fill computes a request's key and value, in place of the last ones.
func (k *keyValue) fill(s *step, req requests.Request) {
	load := &s.spec.Load
	if k.key == nil {
		k.key = make([]byte, 0, keyRoom(load))
	}
	if k.value == nil && s.work.Sends(req) {
		k.value = make([]byte, 0, load.LargestValue())
	}
	k.key = requests.AppendKey(k.key[:0], load, req.Key)
	k.value = s.work.AppendValue(k.value[:0], req)
}

// sharedRoom returns the bytes that fibers share for a request's key and value; 0 if these can be
// so large that each fiber keeps its own.
func sharedRoom(l *workload.Load) int {
	if room := keyRoom(l) + l.LargestValue(); room <= fiber.MostBorrowed {
		return room
	}
	return 0
}

// keyRoom returns the largest key size in bytes.
func keyRoom(l *workload.Load) int { return max(l.KeySize, 20) }
