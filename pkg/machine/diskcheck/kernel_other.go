//go:build !linux

package diskcheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// Other systems than Linux have neither fdatasync(2) nor fallocate(2).

func datasync(f *os.File) error     { return f.Sync() }
func reserve(*os.File, int64) error { return unix.EOPNOTSUPP }
