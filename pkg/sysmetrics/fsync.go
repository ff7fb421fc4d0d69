package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	fsyncCount = 50
	fsyncBytes = 4 << 10
	fsyncLimit = time.Second
)

// FsyncP50 returns the median time of appending 4 KiB and fdatasync, of 50 times
// or as many as fit into a second, to a temporary file in dir, which it removes.
// A single fdatasync can't be interrupted, so one that hangs is waited for.
func FsyncP50(ctx context.Context, dir string) (p50 time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".fdatasync-probe-*")
	if err != nil {
		return 0, fmt.Errorf("probe fdatasync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, fsyncBytes)
	times := make([]time.Duration, 0, fsyncCount)
	for begin := time.Now(); len(times) < fsyncCount && time.Since(begin) < fsyncLimit; {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("probe fdatasync: %w", err)
		}
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, fmt.Errorf("probe fdatasync: %w", err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, fmt.Errorf("probe fdatasync in %s: %w", dir, err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[(len(times)-1)/2], nil
}
