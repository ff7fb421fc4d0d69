package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// removeTimeout limits the wait for killed processes.
	removeTimeout = 10 * time.Second
	// removeEvery is the interval between attempts: version 1 does not report when a group becomes
	// empty.
	removeEvery = 10 * time.Millisecond
)

// Remove kills everything in the group and removes it, together with enclosing groups that this
// program made and that are now empty. It waits up to ten seconds, or until ctx ends. It is not an
// error if the group is gone.
func (g *Group) Remove(ctx context.Context) error {
	dirs := make([]string, len(g.parts))
	for i, p := range g.parts {
		dirs[i] = p.dir
	}
	return remove(ctx, g.kernel, dirs)
}

// Remove removes a group by its directories, as recorded by an earlier process. It fails, without
// touching it, if the group does not belong to this program.
func Remove(ctx context.Context, dirs []string) error {
	var ours []string
	for _, dir := range dirs {
		ok, err := isOurs(dir)
		switch {
		case err != nil:
			return err
		case ok:
			ours = append(ours, dir)
		}
	}
	return remove(ctx, linux{}, ours)
}

// isOurs reports whether a group exists. It fails if the directory does not belong to this program.
func isOurs(dir string) (bool, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("remove control group %q: %w", dir, err)
	case !holdsGroups(s),
		dir != filepath.Clean(dir), filepath.Base(filepath.Dir(filepath.Dir(dir))) != top:
		return false, fmt.Errorf("remove control group %q: it does not belong to dbtester", dir)
	}
	return true, nil
}

func remove(ctx context.Context, k kernel, dirs []string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	ticker := time.NewTicker(removeEvery)
	defer ticker.Stop()
	left := slices.Clone(dirs)
	for {
		var busy error
		left = slices.DeleteFunc(left, func(dir string) bool {
			err := k.rmdir(dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				return true
			}
			busy = errors.Join(busy, err)
			return false
		})
		if len(left) == 0 {
			break
		}
		if !errors.Is(busy, syscall.EBUSY) {
			return fmt.Errorf("remove control group: %w", busy)
		}
		var running []int
		for _, dir := range left {
			pids, err := pidsIn(k, dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove control group: %w", err)
			}
			running = append(running, pids...)
		}
		for _, pid := range running {
			// A thread in this process may be in it to start a child there.
			if pid != os.Getpid() && pid > 0 {
				k.kill(pid)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove control group: processes %v still run in it: %w", running, busy)
		case <-ticker.C:
		}
	}
	for _, dir := range dirs {
		// The parents stay if they contain other groups.
		if k.rmdir(filepath.Dir(dir)) == nil {
			_ = k.rmdir(filepath.Dir(filepath.Dir(dir)))
		}
	}
	return nil
}

// pidsIn returns the processes in the group at dir. 0 is a process outside the namespace of this
// process.
func pidsIn(k kernel, dir string) ([]int, error) {
	text, err := k.read(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("process %q of control group %s: %w", field, dir, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
