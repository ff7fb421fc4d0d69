package http2

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/coreos/dbtester/pkg/wire/buffer"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// Writer writes one buffer to which many callers append. The first caller that
// appends becomes the writer, for all that have appended by then.
type Writer struct {
	net      poller.Conn
	draining sync.WaitGroup

	mu     *sync.Mutex // the connection lock; it guards the fields below
	refill func()      // appends requests as flow control allows; called with the lock
	failed func(error) // called without the lock, after a write failed

	// Pending is to be written next.
	Pending []byte
	// Held is set while the goroutine that reads will write.
	Held bool

	broken  bool           // nothing is written any more
	memory  *buffer.Buffer // of Pending, nil if it was not borrowed
	sending *buffer.Buffer // of the batch that is being written
	usual   int            // bytes of the last batch
	left    []byte         // the rest of a batch written in part
	taken   int64          // bytes that left Pending since the start
	reached int64          // bytes that may have reached the server
	writing bool
	acks    int // answers in Pending to settings and pings from the server
	late    int // bytes of Pending that may wait for a request
}

// End returns the position of the last appended byte among all bytes of the connection. The
// connection is locked.
func (w *Writer) End() int64 { return w.taken + int64(len(w.Pending)) }

// Reached returns the number of connection bytes that may have reached the server. The connection
// is locked.
func (w *Writer) Reached() int64 { return w.reached }

// Late returns the number of pending bytes that wait for a request. The connection is locked.
func (w *Writer) Late() int { return w.late }

// Reserve makes room for n more bytes, and at first for as many as the last batch had. The
// connection is locked.
func (w *Writer) Reserve(n int) {
	need := len(w.Pending) + n
	if need <= cap(w.Pending) {
		return
	}
	old := w.memory
	w.memory = buffer.Borrow(max(need, w.usual))
	w.Pending = append(w.memory.Bytes, w.Pending...)
	old.GiveBack()
}

// answer appends an acknowledgement. It is an error if the server does not read acknowledgements.
// The connection is locked.
func (w *Writer) answer(b []byte) error {
	const most = 10_000
	if w.acks++; w.acks > most {
		return fmt.Errorf("the server has not read %d acknowledgements of its SETTINGS and PINGs", most)
	}
	w.Reserve(len(b))
	w.Pending = append(w.Pending, b...)
	return nil
}

// owes reports whether bytes are pending that may not wait for a request. The connection is locked.
func (w *Writer) owes() bool { return len(w.Pending) > w.late }

// Claim makes its caller the writer, if there is something to write and no other caller does or
// will. The connection is locked.
func (w *Writer) Claim() bool {
	if w.writing || w.Held || w.broken || !w.owes() {
		return false
	}
	w.writing = true
	return true
}

// Work implements [fiber.Work]: it writes after the claim of a fiber.
func (w *Writer) Work() { w.Write(false) }

// Start starts to write in the background, after a claim.
func (w *Writer) Start() { w.draining.Go(func() { w.Write(true) }) }

// Wait waits for the last write, after the connection has ended.
func (w *Writer) Wait() { w.draining.Wait() }

// Write writes the pending bytes, after a claim, without waiting for the network. A
// goroutine writes the rest if the network does not take all at once, and the bytes others append
// meanwhile. With others, it first yields to them, so that one write carries many requests.
func (w *Writer) Write(others bool) {
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
func (w *Writer) drain() {
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

// next returns the next batch, empty if everything was written. It first yields to callers that
// have more to append.
func (w *Writer) next() []byte {
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
func (w *Writer) take() []byte {
	batch := w.Pending
	w.sending, w.memory, w.Pending = w.memory, nil, nil
	w.usual = min(len(batch), buffer.Largest)
	w.taken += int64(len(batch))
	w.reached = w.taken
	w.acks, w.late = 0, 0
	return batch
}

// written gives back the memory of the batch, and appends the data that flow control delayed. The
// connection is locked.
func (w *Writer) written() {
	w.sending.GiveBack()
	w.sending = nil
	w.refill()
}
