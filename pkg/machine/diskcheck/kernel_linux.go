package diskcheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync stores what was written to a file, but not its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// reserve gives a file the blocks of a size, which becomes its own.
func reserve(f *os.File, size int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }
