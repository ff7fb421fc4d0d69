package diskcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// segmentNames is the name pattern for measured files.
const segmentNames = ".dbtester-disk-check-*"

// Check measures a folder's disk with a file in it, like [Measure], and always removes the file. If
// made is not nil, it is called with the path before the file is written, and with "" after its
// removal. Check first removes files left by killed checks. It is safe for concurrent use, but
// concurrent checks on one disk slow one another down.
func Check(ctx context.Context, dir string, o Options, made func(path string)) (r Result, err error) {
	s, err := create(dir)
	if err != nil {
		return Result{}, fmt.Errorf("check the disk: %w", err)
	}
	if made != nil {
		made(s.file.Name())
		defer made("")
	}
	defer func() {
		if removed := s.remove(); removed != nil {
			err = errors.Join(err, fmt.Errorf("check the disk: %w", removed))
		}
	}()
	if r, err = Measure(ctx, s, o); err != nil {
		return r, fmt.Errorf("check the disk of %s: %w", dir, err)
	}
	return r, nil
}

// segment is a Log in a file. The file keeps its name while it is measured, because some file
// systems store unnamed files at a lower cost.
type segment struct{ file *os.File }

var _ Log = (*segment)(nil)

func create(dir string) (*segment, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s must be a folder", dir)
	}
	removeLeft(dir)
	file, err := os.CreateTemp(dir, segmentNames)
	if err != nil {
		return nil, err
	}
	// The lock shows other checks that the file is in use. On a file system without locking, other
	// checks find no lock either and remove nothing.
	_ = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return &segment{file}, nil
}

// removeLeft removes files left by killed checks, as far as it can.
func removeLeft(dir string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range found {
		if ours, err := filepath.Match(segmentNames, entry.Name()); err != nil || !ours {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.Remove(path)
		}
		f.Close()
	}
}

func (s *segment) Append(p []byte) error {
	_, err := s.file.Write(p)
	return err
}

func (s *segment) Sync() error {
	return uninterrupted(func() error { return datasync(s.file) })
}

// Renew also stores the allocation, so that no append pays for it.
func (s *segment) Renew() error {
	err := s.file.Truncate(0)
	if err == nil {
		err = s.allocate()
	}
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("allocate %d MiB: %w", SegmentBytes>>20, err)
	}
	return nil
}

// allocate reserves the blocks. If the file system cannot reserve, it only sets the size, as etcd
// does.
func (s *segment) allocate() error {
	err := uninterrupted(func() error { return reserve(s.file, SegmentBytes) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return s.file.Truncate(SegmentBytes)
	}
	return err
}

// remove closes and removes the file. It is not an error if the file is already gone.
func (s *segment) remove() error {
	err := os.Remove(s.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.file.Close())
}

// uninterrupted repeats a system call that was interrupted by a signal.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// RemoveWithin removes a file made by [Check] from another goroutine, for a process that ends
// without waiting for Check. It gives up after limit, because a hanging disk may never answer.
func RemoveWithin(path string, limit time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- os.Remove(path) }()
	select {
	case err := <-done:
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	case <-time.After(limit):
		return fmt.Errorf("remove %s: not done within %v", path, limit)
	}
}
