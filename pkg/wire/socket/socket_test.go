package socket

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pair returns two connected sockets that never block.
func pair(t *testing.T) (a, b uintptr) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		t.Cleanup(func() { _ = unix.Close(fd) })
	}
	return uintptr(fds[0]), uintptr(fds[1])
}

func TestReadWrite(t *testing.T) {
	a, b := pair(t)
	buf := make([]byte, 16)
	if n, err := Read(a, buf); n != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("Read of a socket without data = %d, %v, want 0, EAGAIN", n, err)
	}
	if n, err := Write(b, []byte("hello")); n != 5 || err != nil {
		t.Errorf("Write = %d, %v, want 5", n, err)
	}
	if n, err := Read(a, buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("Read = %q, %v, want hello", buf[:n], err)
	}
	if err := unix.Shutdown(int(b), unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if n, err := Read(a, buf); n != 0 || err != nil {
		t.Errorf("Read at the end = %d, %v, want 0", n, err)
	}
}

// Peek takes nothing, and distinguishes no bytes from the end.
func TestPeek(t *testing.T) {
	a, b := pair(t)
	if waiting, err := Peek(a); waiting || err != nil {
		t.Errorf("Peek at a socket without data = %v, %v, want false", waiting, err)
	}
	if _, err := Write(b, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if waiting, err := Peek(a); !waiting || err != nil {
			t.Errorf("Peek at a socket with data = %v, %v, want true", waiting, err)
		}
	}
	buf := make([]byte, 16)
	if n, err := Read(a, buf); string(buf[:n]) != "hello" || err != nil {
		t.Errorf("Read = %q, %v, want hello", buf[:n], err)
	}
	if err := unix.Shutdown(int(b), unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if waiting, err := Peek(a); waiting || !errors.Is(err, io.EOF) {
		t.Errorf("Peek at the end = %v, %v, want %v", waiting, err, io.EOF)
	}
}

func TestWriteIsPartial(t *testing.T) {
	a, _ := pair(t)
	big := make([]byte, 64<<20)
	if n, err := Write(a, big); n <= 0 || n >= len(big) || err != nil {
		t.Fatalf("Write of %d bytes that nobody reads = %d, %v, want a part", len(big), n, err)
	}
	if n, err := Write(a, big); n != 0 || !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("Write to a full socket = %d, %v, want 0, EAGAIN", n, err)
	}
}

func TestBadSocket(t *testing.T) {
	const none = ^uintptr(0) >> 33
	if _, err := Read(none, make([]byte, 1)); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Read = %v, want EBADF", err)
	}
	if _, err := Write(none, make([]byte, 1)); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Write = %v, want EBADF", err)
	}
	if _, err := Peek(none); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Peek = %v, want EBADF", err)
	}
}
