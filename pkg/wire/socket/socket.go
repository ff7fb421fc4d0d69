// Package socket reads from and writes to sockets that never block, such as those of package
// net below [syscall.RawConn].
//
// Usual system calls announce themselves to the Go scheduler, because they may block. The scheduler
// then lends the processor to another thread, and a monitor wakes 50,000 times a second to check
// whether it should. On a machine whose processors servers share, that took a sixth of client
// processor time. These calls last microseconds, so they are not announced.
package socket

import (
	"errors"
	"io"
	"syscall"
)

// Read reads once into b, which must not be empty. [syscall.EAGAIN] means that nothing has
// arrived; 0 bytes without an error mean that nothing more will arrive.
func Read(fd uintptr, b []byte) (int, error) { return retry(read, fd, b) }

// Write writes as much of b, which must not be empty, as the socket takes. [syscall.EAGAIN]
// means that the socket takes nothing now.
func Write(fd uintptr, b []byte) (int, error) { return retry(write, fd, b) }

// Peek reports whether bytes have arrived, without taking any. If the connection has ended it
// returns an error, [io.EOF] if the other side ended it.
func Peek(fd uintptr) (waiting bool, err error) {
	var one [1]byte
	switch n, err := retry(peek, fd, one[:]); {
	case errors.Is(err, syscall.EAGAIN):
		return false, nil
	case err != nil:
		return false, err
	case n == 0:
		return false, io.EOF
	}
	return true, nil
}

// retry repeats calls that a signal interrupted.
func retry(call func(uintptr, []byte) (int, error), fd uintptr, b []byte) (int, error) {
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
