package diskcheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync stores the data written to a file, without its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// reserve allocates blocks for size bytes and sets the file size.
func reserve(f *os.File, size int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }
