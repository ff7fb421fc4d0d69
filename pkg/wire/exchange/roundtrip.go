package exchange

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/coreos/dbtester/pkg/wire/buffer"
	"github.com/coreos/dbtester/pkg/wire/socket"
)

// roundTrip writes a request and waits for the first bytes of its answer in one wait in the runtime
// poller. A usual Read begins with a system call that finds nothing, because the answer cannot have
// arrived yet.
type roundTrip struct {
	raw  syscall.RawConn // nil with TLS, and for a polled connection
	conn io.Writer
	in   *Input
	sent *atomic.Bool
	step func(fd uintptr) bool // the method next, allocated once

	request []byte         // nil once it was written
	memory  *buffer.Buffer // the request's, lent until then
	err     error
}

// do writes the request and fills in.
func (t *roundTrip) do(request []byte) error {
	t.request, t.err = request, nil
	err := t.raw.Read(t.step)
	t.request = nil
	if t.err != nil {
		return t.err
	}
	return err
}

// next writes, then reads until something has arrived; it returns false to wait. The
// poller cleared its readiness before the first call, so no wake-up is lost.
func (t *roundTrip) next(fd uintptr) bool {
	if t.request != nil {
		t.write(fd)
		t.request = nil
		t.written()
		return t.err != nil
	}
	n, err := socket.Read(fd, t.in.room())
	switch {
	case errors.Is(err, syscall.EAGAIN):
		t.in.lend()
		return false
	case err != nil:
		t.err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
	case n == 0:
		t.err = io.ErrUnexpectedEOF
	default:
		t.in.added(n)
	}
	return true
}

// written gives back the memory of the request.
func (t *roundTrip) written() {
	t.memory.GiveBack()
	t.memory = nil
}

// write writes the request. A part that the kernel does not take at once is written through conn,
// which waits.
func (t *roundTrip) write(fd uintptr) {
	n, err := socket.Write(fd, t.request)
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		t.err = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		return
	}
	if n < len(t.request) {
		_, t.err = t.conn.Write(t.request[n:])
	}
	t.sent.Store(t.err == nil)
}
