package load

import (
	"github.com/coreos/dbtester/pkg/generator"
	"github.com/coreos/dbtester/pkg/workload"
)

// keyValue is memory that a client keeps for keys and values, and to check values in. It is nil
// until it is needed.
type keyValue struct{ key, value []byte }

// prepare computes a request and fills w.key and w.payload, and w.value if the operation
// sends one. Key and value of a fiber's plain write are not the client's any more once it has
// waited.
func (w *worker) prepare(number int64) generator.Request {
	work := w.step.work
	req := work.Request(number)
	if op := work.Operation(req); w.brief && (op == workload.OpWrite || op == workload.OpUpdate) {
		w.prepareBriefly(req)
	} else {
		w.prepareToKeep(req)
	}
	w.payload = 0
	if work.Sends(req) {
		w.payload = int64(len(w.key) + len(w.value))
	}
	return req
}

// prepareBriefly fills w.key and w.value until the client waits: see [database.Continuer].
func (w *worker) prepareBriefly(req generator.Request) {
	load := &w.step.spec.Load
	b := generator.AppendKey(w.fiber.Borrow(keyRoom(load)+valueRoom(load)), load, req.Key)
	n := len(b)
	b = w.step.work.AppendValue(b, req)
	w.key, w.value = b[:n:n], b[n:]
}

// prepareToKeep fills w.key and w.value until the next request.
func (w *worker) prepareToKeep(req generator.Request) {
	load := &w.step.spec.Load
	if w.kept.key == nil {
		w.kept.key = make([]byte, 0, keyRoom(load))
	}
	if w.kept.value == nil && w.step.work.Sends(req) {
		w.kept.value = make([]byte, 0, valueRoom(load))
	}
	w.key = generator.AppendKey(w.kept.key[:0], load, req.Key)
	w.value = w.step.work.AppendValue(w.kept.value[:0], req)
	w.kept = keyValue{w.key, w.value}
}

// keyRoom and valueRoom are the bytes of the largest key and value.
func keyRoom(l *workload.Load) int { return max(l.KeySize, 20) }

func valueRoom(l *workload.Load) int { return max(l.ValueSize, l.ValueSizeMax) }
