//go:build linux && !race

package socket

import (
	"syscall"
	"unsafe"
)

func read(fd uintptr, b []byte) (int, error) { return raw(syscall.SYS_READ, fd, b) }

func write(fd uintptr, b []byte) (int, error) { return raw(syscall.SYS_WRITE, fd, b) }

func peek(fd uintptr, b []byte) (int, error) {
	n, _, failed := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

func raw(call, fd uintptr, b []byte) (int, error) {
	n, _, failed := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}
