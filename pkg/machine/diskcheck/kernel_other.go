//go:build !linux

package diskcheck

import (
	"os"

	"golang.org/x/sys/unix"
)

// Systems other than Linux lack fdatasync(2) and fallocate(2).

func datasync(f *os.File) error     { return f.Sync() }
func reserve(*os.File, int64) error { return unix.EOPNOTSUPP }
