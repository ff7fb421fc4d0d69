package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	fsyncCount = 50
	fsyncBytes = 4 << 10
	fsyncLimit = time.Second
)

// FsyncP50 returns the median time of appending 4 KiB and fdatasync, over 50 times or as many as
// fit into a second, as measured by fsyncTimes.
func FsyncP50(ctx context.Context, dir string) (p50 time.Duration, err error) {
	times, err := fsyncTimes(ctx, dir, fsyncCount, fsyncLimit)
	if err != nil {
		return 0, err
	}
	return times[(len(times)-1)/2], nil
}

// fsyncTimes measures appending 4 KiB and fdatasync, count times or as often as fits into limit but
// at least once, and returns the times, shortest first. It removes its temporary file in dir. A
// single fdatasync cannot be interrupted, so fsyncTimes waits even for one that hangs.
func fsyncTimes(ctx context.Context, dir string, count int, limit time.Duration) (times []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".fdatasync-probe-*")
	if err != nil {
		return nil, fmt.Errorf("probe fdatasync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, fsyncBytes)
	for begin := time.Now(); len(times) == 0 || len(times) < count && time.Since(begin) < limit; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("probe fdatasync: %w", err)
		}
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, fmt.Errorf("probe fdatasync: %w", err)
		}
		if err := datasync(f); err != nil {
			return nil, fmt.Errorf("probe fdatasync in %s: %w", dir, err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times, nil
}
