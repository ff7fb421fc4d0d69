package unary

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/coreos/dbtester/pkg/wire/buffer"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// writer writes one buffer to which many callers append. The first caller that
// appends becomes the one who writes, for all that have appended by then.
type writer struct {
	net      poller.Conn
	draining sync.WaitGroup

	mu     *sync.Mutex // the connection's; it guards the fields below
	refill func()      // appends requests as flow control allows; called with the lock
	failed func(error) // called without the lock, after a write failed

	broken  bool           // nothing is written any more
	pending []byte         // to be written next
	memory  *buffer.Buffer // of pending, nil if it has none that was borrowed
	sending *buffer.Buffer // of the batch that is being written
	usual   int            // bytes of the last batch
	left    []byte         // the rest of a batch that was written in part
	taken   int64          // bytes that left pending since the start
	reached int64          // bytes of those that may have reached the server
	writing bool
	held    bool // the goroutine that reads will write
	acks    int  // answers in pending to the server's settings and pings
	late    int  // bytes of those in pending that may wait for a request
}

// end returns the position of the last appended byte in the connection's bytes.
func (w *writer) end() int64 { return w.taken + int64(len(w.pending)) }

// reserve makes room for n more bytes, and at first for as many as the last batch had. The
// connection is locked.
func (w *writer) reserve(n int) {
	need := len(w.pending) + n
	if need <= cap(w.pending) {
		return
	}
	old := w.memory
	w.memory = buffer.Borrow(max(need, w.usual))
	w.pending = append(w.memory.Bytes, w.pending...)
	old.GiveBack()
}

// answer appends an acknowledgement. A server that does not read them is an error. The
// connection is locked.
func (w *writer) answer(b []byte) error {
	const most = 10_000
	if w.acks++; w.acks > most {
		return fmt.Errorf("the server has not read %d acknowledgements of its SETTINGS and PINGs", most)
	}
	w.reserve(len(b))
	w.pending = append(w.pending, b...)
	return nil
}

// owes reports whether bytes are pending that may not wait for a request. The connection is locked.
func (w *writer) owes() bool { return len(w.pending) > w.late }

// claim makes its caller the one who writes, if there is something to write and no
// other does or will. The connection is locked.
func (w *writer) claim() bool {
	if w.writing || w.held || w.broken || !w.owes() {
		return false
	}
	w.writing = true
	return true
}

// Work implements [fiber.Work]: it writes after a claim of a fiber.
func (w *writer) Work() { w.write(false) }

// write writes the pending bytes, after a claim, without waiting for the network. A
// goroutine writes the rest if the network does not take all at once, and the bytes
// that others append meanwhile. With others, it first yields to them, so that one write carries the
// requests of many.
func (w *writer) write(others bool) {
	if others {
		runtime.Gosched()
	}
	w.mu.Lock()
	if w.broken { // the pending calls have failed as not sent
		w.writing = false
		w.mu.Unlock()
		return
	}
	batch := w.take()
	w.mu.Unlock()
	n, err := w.net.TryWrite(batch)
	w.mu.Lock()
	w.reached -= int64(len(batch) - n)
	if err == nil && n == len(batch) {
		w.written()
		batch, n = nil, 0
	}
	w.left = batch[n:]
	switch {
	case err != nil:
	case w.broken || len(w.left) == 0 && !w.owes():
		w.writing = false
	default:
		w.draining.Go(w.drain)
	}
	w.mu.Unlock()
	if err != nil {
		w.failed(err)
	}
}

// drain writes until nothing is left that must be written.
func (w *writer) drain() {
	for {
		batch := w.next()
		if len(batch) == 0 {
			return
		}
		_, err := w.net.Write(batch)
		if err != nil {
			w.failed(err)
		}
		w.mu.Lock()
		w.written()
		w.mu.Unlock()
	}
}

// next returns the next batch, nothing if all was written. It first yields to
// callers that have more to append.
func (w *writer) next() []byte {
	if len(w.left) == 0 {
		runtime.Gosched()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	batch := w.left
	w.left = nil
	switch {
	case w.broken || len(batch) == 0 && !w.owes():
		w.writing = false
		return nil
	case len(batch) > 0:
		w.reached += int64(len(batch))
		return batch
	}
	return w.take()
}

// take returns the pending bytes as one batch, which from here on may have reached the
// server. The connection is locked.
func (w *writer) take() []byte {
	batch := w.pending
	w.sending, w.memory, w.pending = w.memory, nil, nil
	w.usual = min(len(batch), buffer.Largest)
	w.taken += int64(len(batch))
	w.reached = w.taken
	w.acks, w.late = 0, 0
	return batch
}

// written gives back the memory of the batch, and appends what flow control held back. The
// connection is locked.
func (w *writer) written() {
	w.sending.GiveBack()
	w.sending = nil
	w.refill()
}
