package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// workDirs is the name pattern for work directories of local agents.
const workDirs = ".work-*"

// holdDir locks a directory until the returned file is closed or this process ends.
func holdDir(path string) (io.Closer, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	// leftovers in another process may briefly hold a shared lock.
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// leftovers returns the unlocked work directories in a folder: killed runs left them.
func leftovers(folder string) []string {
	found, err := filepath.Glob(filepath.Join(folder, workDirs))
	if err != nil {
		return nil // the folder name is a bad pattern
	}
	return slices.DeleteFunc(found, func(path string) bool {
		dir, err := os.Open(path)
		if err != nil {
			return true // it has just been removed
		}
		defer dir.Close()
		return unix.Flock(int(dir.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
	})
}

// reportLeft unmounts member disks in a work directory left by a killed run, and reports the
// directory.
func (a *app) reportLeft(ctx context.Context, dir string) {
	whole, err := filepath.Abs(dir)
	if err == nil {
		err = errors.Join(owndisk.UnmountBelow(ctx, whole), owndisk.DrainBelow(whole))
	}
	if err != nil {
		fmt.Fprintf(a.err, "dbtester: disks below %s: %v\n", relative(dir), err)
	}
	fmt.Fprintf(a.err, "dbtester: %s\n", leftBehind(dir))
}
