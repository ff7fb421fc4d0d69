//go:build !linux || race

package socket

import "syscall"

// The race detector takes what passes through a socket for an order of events only if it is told
// of the calls.

func read(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

func write(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
