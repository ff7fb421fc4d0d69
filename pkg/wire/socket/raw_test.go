//go:build linux && !race

package socket

import (
	"errors"
	"syscall"
	"testing"
)

// In builds that ship the calls are raw: reads, writes and errors are those of the kernel.
func TestRaw(t *testing.T) {
	a, b := pair(t)
	if n, err := raw(syscall.SYS_WRITE, b, []byte("hello")); n != 5 || err != nil {
		t.Fatalf("a raw write = %d, %v, want 5", n, err)
	}
	buf := make([]byte, 16)
	if n, err := read(a, buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("read = %q, %v, want hello", buf[:n], err)
	}
	if n, err := read(a, buf); n != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("a raw read of a socket without data = %d, %v, want 0, EAGAIN", n, err)
	}
}
