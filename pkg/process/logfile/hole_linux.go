package logfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole returns size bytes from at on to the file system. They then read as zeros.
func punchHole(f *os.File, at, size int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size)
}
