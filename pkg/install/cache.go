package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrAbsent means that the cache does not have a release.
var ErrAbsent = errors.New("not in the cache")

// lockPoll is the interval between attempts to take a held lock: waiting for flock cannot be
// cancelled by a context.
const lockPoll = 100 * time.Millisecond

// Find returns a cached release, including every tool it needs. The error wraps [ErrAbsent] if
// there is no such release; any other error is the reason why it cannot be used. Find does not
// verify hashes; see [Release.Verify].
func (in *Installer) Find(name, version string) (Release, error) {
	id, err := newID(name, version)
	if err != nil {
		return Release{}, err
	}
	r, err := in.load(id)
	if err != nil {
		return Release{}, fmt.Errorf("%s: %w", id, err)
	}
	return r, nil
}

// List returns the cached releases by name, then by version. The error joins the problems with
// unusable releases. A release that needs programs missing on this machine is both returned and
// part of the error.
func (in *Installer) List() ([]Release, error) {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(in.Cache), "[a-zA-Z0-9]*", "[a-zA-Z0-9]*"))
	if err != nil {
		return nil, fmt.Errorf("list the cache %s: %w", in.Cache, err)
	}
	var list []Release
	var problems []error
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			continue // not a release but a file
		}
		id := id{filepath.Base(filepath.Dir(dir)), filepath.Base(dir)}
		r, err := in.load(id)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
		if r.Dir != "" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Release) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), compareVersions(a.Version, b.Version))
	})
	return list, errors.Join(problems...)
}

// escapeGlob returns a pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// compareVersions orders 3.9.5 before 3.10.0: it compares runs of digits by value, everything else
// by bytes.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da == 0 || db == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		na, nb := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
		if c := cmp.Or(cmp.Compare(len(na), len(nb)), strings.Compare(na, nb)); c != 0 {
			return c
		}
		a, b = a[da:], b[db:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits at the beginning of s.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// load reads a cached release. ErrAbsent means that the cache lacks it. With any other error, the
// release is returned as well if its record was readable.
func (in *Installer) load(id id) (Release, error) {
	dir, err := filepath.Abs(in.dir(id))
	if err != nil {
		return Release{}, fmt.Errorf("find the cache: %w", err)
	}
	record := filepath.Join(dir, releaseFile)
	data, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); err != nil {
			return Release{}, ErrAbsent
		}
		// An install may have moved the whole directory here since the first attempt.
		if data, err = os.ReadFile(record); errors.Is(err, fs.ErrNotExist) {
			return Release{}, fmt.Errorf("%s has no %s, so it is not a release: remove it", dir, releaseFile)
		}
	}
	if err != nil {
		return Release{}, fmt.Errorf("read the cache: %w", err)
	}
	var r Release
	if err := json.Unmarshal(data, &r); err != nil {
		return Release{}, fmt.Errorf("read %s: %w", filepath.Join(dir, releaseFile), err)
	}
	if r.Name != id.name || r.Version != id.version {
		return Release{}, fmt.Errorf("%s holds a release that calls itself %s %s", dir, r.Name, r.Version)
	}
	r.Dir = dir
	var problems []error
	for tool, rel := range r.Files {
		if err := checkInside(rel); err != nil {
			return Release{}, fmt.Errorf("read %s: %w", filepath.Join(dir, releaseFile), err)
		}
		r.Files[tool] = filepath.Join(dir, rel)
		if _, err := os.Stat(r.Files[tool]); err != nil {
			problems = append(problems, fmt.Errorf("%s is missing (remove %s to install it again): %w", tool, dir, err))
		}
	}
	found, err := in.needs(r.Needs)
	maps.Copy(r.Files, found)
	return r, errors.Join(append(problems, err)...)
}

// lock takes the lock of the release. It waits while another process or goroutine obtains the same
// release. The lock is an advisory lock on a file that is never removed, so it is released when its
// process ends.
func (in *Installer) lock(ctx context.Context, id id) (unlock func(), err error) {
	path := filepath.Join(in.Cache, lockFolder, id.key())
	unlock, ok, err := tryLock(path)
	if err != nil || ok {
		return unlock, err
	}
	in.say("%s: waiting for another install of it", id)
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another install: %w", context.Cause(ctx))
		case <-tick.C:
		}
		if unlock, ok, err := tryLock(path); err != nil || ok {
			return unlock, err
		}
	}
}

// tryLock takes the lock on a lock file if it is free.
func tryLock(path string) (unlock func(), ok bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, false, fmt.Errorf("make the cache: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, fmt.Errorf("open the lock: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return func() { f.Close() }, true, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %s: %w", path, err)
}

// sweep removes staging files left by interrupted installs: those for this release, whose lock the
// caller holds, and those for any other release whose lock is free.
func (in *Installer) sweep(own id) error {
	staging := filepath.Join(in.Cache, stagingFolder)
	entries, err := os.ReadDir(staging)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for left-overs: %w", err)
	}
	for _, e := range entries {
		stale := filepath.Join(staging, e.Name())
		if e.Name() != own.key() {
			unlock, ok, err := tryLock(filepath.Join(in.Cache, lockFolder, e.Name()))
			if err != nil || !ok {
				continue // its owner is at work, or will sweep it
			}
			defer unlock()
		}
		in.say("%s: removing files left by an interrupted install: %s", own, stale)
		if err := os.RemoveAll(stale); err != nil {
			return fmt.Errorf("remove left-overs: %w", err)
		}
	}
	return nil
}
