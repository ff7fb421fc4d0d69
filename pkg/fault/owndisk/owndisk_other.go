//go:build !linux

package owndisk

import (
	"context"
	"errors"
	"io"
)

var errLinux = errors.New("disks of members' own need Linux")

// Check returns an error: only Linux has such disks.
func Check() error { return errLinux }

// CheckDir returns an error: only Linux has such disks.
func CheckDir(dir, workDir string) error { return errLinux }

// Hold is not supported on this system.
func Hold(dir string) (io.Closer, error) { return nil, errLinux }

// MakeIn is not supported on this system.
func (d Disk) MakeIn() error { return errLinux }

// Reclaim has nothing to do.
func (d Disk) Reclaim(bool) error { return nil }

// DrainBelow has nothing to do.
func DrainBelow(string) error { return nil }

// Make is not supported on this system.
func Make(context.Context, Disk, int64) error { return errLinux }

// Mount is not supported on this system.
func (d Disk) Mount() error { return errLinux }

// UnmountBelow has nothing to do.
func UnmountBelow(context.Context, string) error { return nil }

// Unmount has nothing to do.
func (d Disk) Unmount(context.Context) error { return nil }

// Mounted returns false.
func (d Disk) Mounted() (bool, error) { return false, nil }

// Sync is not supported on this system.
func (d Disk) Sync() error { return errLinux }

// Cut is not supported on this system.
func (d Disk) Cut() error { return errLinux }

// Free knows nothing.
func (d Disk) Free() (int64, error) { return 0, errLinux }

// Fill is not supported on this system, and Drain has nothing to do.
func (d Disk) Fill(context.Context) (int64, error) { return 0, errLinux }
func (d Disk) Drain() error                        { return nil }
