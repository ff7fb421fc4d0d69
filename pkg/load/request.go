package load

import (
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// keyValue is a client's own memory for the key and the value of a request.
type keyValue struct{ key, value []byte }

// prepare computes a request and fills w.key and w.payload, and w.value if the operation
// sends one. Key and value of a fiber's plain write are not the client's any more once it has
// waited: see [database.Continuer].
func (w *worker) prepare(number int64) requests.Request {
	work := w.step.work
	req := work.Request(number)
	if op := work.Operation(req); w.room > 0 && (op == workload.OpWrite || op == workload.OpUpdate) {
		w.key, w.value = briefly(w.fiber.Borrow(w.room), w.step, req)
	} else {
		w.kept.fill(w.step, req)
		w.key, w.value = w.kept.key, w.kept.value
	}
	w.payload = 0
	if work.Sends(req) {
		w.payload = int64(len(w.key) + len(w.value))
	}
	return req
}

// briefly computes key and value of a request in borrowed memory.
func briefly(memory []byte, s *step, req requests.Request) (key, value []byte) {
	b := requests.AppendKey(memory, &s.spec.Load, req.Key)
	n := len(b)
	b = s.work.AppendValue(b, req)
	return b[:n:n], b[n:]
}

// fill computes key and value of a request where those of the last one were.
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

// sharedRoom is the memory in bytes that fibers share for the key and the value of a request, 0 if
// those can be so large that each fiber keeps its own.
func sharedRoom(l *workload.Load) int {
	if room := keyRoom(l) + l.LargestValue(); room <= fiber.MostBorrowed {
		return room
	}
	return 0
}

// keyRoom is the size of the largest key, in bytes.
func keyRoom(l *workload.Load) int { return max(l.KeySize, 20) }
