package owndisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

// fillable are the file system types whose space is their own and can be reserved. In btrfs and
// zfs, file systems share a pool, and others belong to other machines.
var fillable = []string{"ext4", "f2fs", "tmpfs", "xfs"}

// emptyDisk are the names an empty file system may have at its top.
var emptyDisk = []string{"lost+found", memberDir}

// memoryShare divides the memory: a file system in memory may have at most one such part. If it is
// mounted without a size, it has half the memory.
const memoryShare = 4

// CheckDir returns why the file system at a directory may not be filled. It must be mounted there
// only for this, so that neither the machine, nor the agent in a work directory, nor another member
// needs it. At a second check the directory may contain the member's folder.
func CheckDir(dir, workDir string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	m, err := mountAt(dir, all)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("the file system at %q cannot be the disk of a member: %s", dir, fmt.Sprintf(format, args...))
	}
	for _, other := range []struct{ name, path string }{{"/", "/"}, {"the work directory", workDir}} {
		if same, err := sameFileSystem(dir, other.path); err != nil {
			return err
		} else if same {
			return refuse("%s is on it too", other.name)
		}
	}
	if m.Root != "/" {
		return refuse("only its directory %q is mounted there", m.Root)
	}
	if i := slices.IndexFunc(all, func(o mounts.Mount) bool { return o.Major == m.Major && o.Minor == m.Minor && o.Point != dir }); i >= 0 {
		return refuse("it is mounted at %q too", all[i].Point)
	}
	if !slices.Contains(fillable, m.Type) {
		return refuse("its type must be one of %s, got %s", strings.Join(fillable, ", "), m.Type)
	}
	if m.Type == "tmpfs" {
		if err := smallEnough(dir); err != nil {
			return refuse("%v", err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return refuse("%v", err)
	}
	for _, e := range entries {
		if !slices.Contains(emptyDisk, e.Name()) {
			return refuse("it must be empty, and has %q", e.Name())
		}
	}
	if err := unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		return refuse("it must be writable: %v", err)
	}
	return nil
}

// mountAt returns the mount at a directory.
func mountAt(dir string, all []mounts.Mount) (mounts.Mount, error) {
	for _, m := range slices.Backward(all) { // later ones cover earlier ones
		if m.Point == dir {
			return m, nil
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return mounts.Mount{}, err
	} else if !info.IsDir() {
		return mounts.Mount{}, fmt.Errorf("a disk of a member must be a directory, got %q", dir)
	}
	at := ""
	for _, m := range all {
		if mounts.Within(dir, m.Point) && len(m.Point) > len(at) {
			at = m.Point
		}
	}
	return mounts.Mount{}, fmt.Errorf("a file system of its own must be mounted at %q, which may be filled: it is on the file system of %q", dir, at)
}

// mounted returns the mounts this process sees.
func mounted() ([]mounts.Mount, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return mounts.Parse(data)
}

// sameFileSystem reports whether path, or its nearest existing parent, is on dir's file system.
func sameFileSystem(dir, path string) (bool, error) {
	var d, p unix.Stat_t
	if err := unix.Stat(dir, &d); err != nil {
		return false, fmt.Errorf("read %s: %w", dir, err)
	}
	for {
		err := unix.Stat(path, &p)
		if errors.Is(err, unix.ENOENT) && path != filepath.Dir(path) {
			path = filepath.Dir(path)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", path, err)
		}
		return d.Dev == p.Dev, nil
	}
}

// smallEnough returns an error if a file system in memory would take too much memory when full.
func smallEnough(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return err
	}
	size, most := s.Blocks*uint64(s.Bsize), memory.Totalram*uint64(memory.Unit)/memoryShare
	if size == 0 || size > most { // 0 means no bound
		return fmt.Errorf("a tmpfs must be at most %d MiB, a quarter of the memory, got %d MiB: mount it with -o size=", most>>20, size>>20)
	}
	return nil
}

// errHeld reports that a disk the user has mounted belongs to another agent.
var errHeld = errors.New("it is the disk of another agent's member")

// Hold reserves a disk the user has mounted for one agent, until it is closed. The lock is on the
// file system's top, wherever it is mounted.
func Hold(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errHeld
		}
		return nil, errors.Join(fmt.Errorf("lock %q: %w", dir, err), f.Close())
	}
	return f, nil
}

// MakeIn makes the member's folder on a disk the user has mounted. It removes the leftovers of an
// earlier member.
func (d Disk) MakeIn() error {
	if err := d.clear(); err != nil {
		return err
	}
	if err := os.Mkdir(d.Point, 0o700); err != nil {
		return fmt.Errorf("make the member's folder: %w", err)
	}
	return nil
}

// clear removes the member's folder from a disk the user has mounted. It follows no link.
func (d Disk) clear() error {
	root, err := os.OpenRoot(d.Dir)
	if err != nil {
		return fmt.Errorf("remove the member's folder: %w", err)
	}
	defer root.Close()
	if err := root.RemoveAll(memberDir); err != nil {
		return fmt.Errorf("remove the member's folder: %w", err)
	}
	return nil
}

// reachable reports whether the member's folder is on the user's mount.
func (d Disk) reachable() (bool, error) {
	all, err := mounted()
	if err != nil || !slices.ContainsFunc(all, func(m mounts.Mount) bool { return m.Point == d.Dir }) {
		return false, err
	}
	if _, err := os.Lstat(d.Point); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	same, err := sameFileSystem(d.Dir, d.Point)
	return same && d == In(d.Dir), err
}

// Reclaim frees a disk the user has mounted, after an agent that was killed: it removes the
// ballast, or the member's whole folder. It ignores a disk that another agent holds by now: its
// files belong to the member of that agent.
func (d Disk) Reclaim(folder bool) error {
	hold, err := Hold(d.Dir)
	if errors.Is(err, errHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer hold.Close()
	if folder {
		return d.clear()
	}
	return d.Drain()
}

// DrainBelow removes the ballast from the disks that belong to sessions below a directory in which
// agents have their work directories. Members' folders stay with their data until the next member
// gets the disk.
func DrainBelow(dir string) error {
	links, err := filepath.Glob(filepath.Join(dir, "*", "*", "data"))
	if err != nil {
		return nil // a folder whose name is a pattern
	}
	var errs []error
	for _, link := range links {
		if point, err := os.Readlink(link); err == nil && filepath.Base(point) == memberDir {
			errs = append(errs, In(filepath.Dir(point)).Reclaim(false))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EINVAL) {
			errs = append(errs, err) // EINVAL: not a link
		}
	}
	return errors.Join(errs...)
}
