package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	fsyncCount = 50
	fsyncBytes = 4 << 10
	fsyncLimit = time.Second
)

// FsyncP50 returns the median time to append 4 KiB with fdatasync, over 50 times or as many as fit
// into a second, as measured by fsyncTimes.
func FsyncP50(ctx context.Context, dir string) (p50 time.Duration, err error) {
	times, err := fsyncTimes(ctx, dir, fsyncCount, fsyncLimit)
	if err != nil {
		return 0, err
	}
	return times[(len(times)-1)/2], nil
}

// fsyncTimes measures appending 4 KiB and fdatasync, count times or as often as fits into limit but
// at least once, and returns the times, shortest first. A single fdatasync cannot be interrupted, so
// fsyncTimes waits even for one that hangs.
func fsyncTimes(ctx context.Context, dir string, count int, limit time.Duration) (times []time.Duration, err error) {
	p, err := NewFsyncProbe(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for begin := time.Now(); len(times) == 0 || len(times) < count && time.Since(begin) < limit; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("probe fdatasync: %w", err)
		}
		took, err := p.Append()
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times, nil
}

// FsyncProbe is a temporary file to which 4 KiB at a time are appended and put on disk. Its methods
// must not be called concurrently.
type FsyncProbe struct {
	file  *os.File
	block []byte
}

// NewFsyncProbe makes a probe in a directory.
func NewFsyncProbe(dir string) (*FsyncProbe, error) {
	f, err := os.CreateTemp(dir, ".fdatasync-probe-*")
	if err != nil {
		return nil, fmt.Errorf("probe fdatasync: %w", err)
	}
	return &FsyncProbe{file: f, block: make([]byte, fsyncBytes)}, nil
}

// Append appends 4 KiB, calls fdatasync, and returns the time for both.
func (p *FsyncProbe) Append() (time.Duration, error) {
	start := time.Now()
	if _, err := p.file.Write(p.block); err != nil {
		return 0, fmt.Errorf("probe fdatasync: %w", err)
	}
	if err := datasync(p.file); err != nil {
		return 0, fmt.Errorf("probe fdatasync in %s: %w", filepath.Dir(p.file.Name()), err)
	}
	return time.Since(start), nil
}

// Close removes the file.
func (p *FsyncProbe) Close() error { return errors.Join(p.file.Close(), os.Remove(p.file.Name())) }
