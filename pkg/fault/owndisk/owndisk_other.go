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

// Hold holds none.
func Hold(dir string) (io.Closer, error) { return nil, errLinux }

// MakeIn makes none.
func (d Disk) MakeIn() error { return errLinux }

// Reclaim has nothing to do.
func (d Disk) Reclaim(bool) error { return nil }

// DrainBelow has nothing to do.
func DrainBelow(string) error { return nil }

// Make makes none.
func Make(context.Context, Disk, int64) error { return errLinux }

// Mount mounts none.
func (d Disk) Mount() error { return errLinux }

// UnmountBelow has nothing to do.
func UnmountBelow(context.Context, string) error { return nil }

// Unmount has nothing to do.
func (d Disk) Unmount(context.Context) error { return nil }

// Mounted returns false.
func (d Disk) Mounted() (bool, error) { return false, nil }

// Sync synchronizes none.
func (d Disk) Sync() error { return errLinux }

// Cut cuts none.
func (d Disk) Cut() error { return errLinux }

// Free knows nothing.
func (d Disk) Free() (int64, error) { return 0, errLinux }

// Fill fills none, and Drain has nothing to do.
func (d Disk) Fill(context.Context) (int64, error) { return 0, errLinux }
func (d Disk) Drain() error                        { return nil }
