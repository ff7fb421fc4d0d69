package load

import (
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/wire/fiber"
	"github.com/coreos/dbtester/pkg/workload"
)

// keyValue is a client's own memory for the key and the value of a request.
type keyValue struct{ key, value []byte }

// prepare computes a request and fills key and payload, and value if the operation
// sends one. A fiber's plain write owns its key and value only until it waits: see
// [database.Continuer].
func (a *applier) prepare(number int64) requests.Request {
	work := a.client.step.work
	req := work.Request(number)
	if op := work.Operation(req); a.room > 0 && (op == workload.OpWrite || op == workload.OpUpdate) {
		a.key, a.value = briefly(a.client.fiber.Borrow(a.room), a.client.step, req)
	} else {
		a.kept.fill(a.client.step, req)
		a.key, a.value = a.kept.key, a.kept.value
	}
	a.payload = 0
	if work.Sends(req) {
		a.payload = int64(len(a.key) + len(a.value))
	}
	return req
}

// forget leaves the memory of the last request's keys and values to the database's client, which may
// keep them if it returned an error: see [database.Client].
func (a *applier) forget() {
	a.kept = keyValue{}
	if g := a.guarded; g != nil {
		g.puts, g.data = nil, nil
	}
}

// briefly computes key and value of a request in borrowed memory.
func briefly(memory []byte, s *step, req requests.Request) (key, value []byte) {
	b := requests.AppendKey(memory, &s.spec.Load, req.Key)
	n := len(b)
	b = s.work.AppendValue(b, req)
	return b[:n:n], b[n:]
}

// fill computes key and value of a request, in place of those of the last request.
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

// sharedRoom returns the size in bytes of the memory that fibers share for the key and the value
// of a request; 0 if these can be so large that each fiber keeps its own.
func sharedRoom(l *workload.Load) int {
	if room := keyRoom(l) + l.LargestValue(); room <= fiber.MostBorrowed {
		return room
	}
	return 0
}

// keyRoom returns the size of the largest key, in bytes.
func keyRoom(l *workload.Load) int { return max(l.KeySize, 20) }
