package owndisk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

const (
	// makeFS is the program that makes the file system. Through loopControl the kernel allocates
	// loop devices.
	makeFS      = "mkfs.ext4"
	loopControl = "/dev/loop-control"
	// ballast is the file that fills a disk, at its top.
	ballast = ".dbtester-ballast"
	// shutdown is the ioctl FS_IOC_SHUTDOWN. noLogFlush makes it lose the blocks the journal has
	// not written.
	shutdown   = 0x8004587d
	noLogFlush = 2
	// busyTimeout is how long killed processes may keep a disk in use. busyEvery is the interval
	// between attempts.
	busyTimeout = 10 * time.Second
	busyEvery   = 10 * time.Millisecond
	// tries bounds how often another process may take the free loop device first.
	tries = 20
)

// Check returns why this machine cannot have such disks.
func Check() error {
	if os.Geteuid() != 0 {
		return errors.New("a disk of the member's own needs root")
	}
	if _, err := exec.LookPath(makeFS); err != nil {
		return fmt.Errorf("a disk of the member's own needs %s (package e2fsprogs): %w", makeFS, err)
	}
	if known, err := os.ReadFile("/proc/filesystems"); err != nil || !slices.Contains(strings.Fields(string(known)), "ext4") {
		return errors.Join(errors.New("a disk of the member's own needs a kernel with ext4"), err)
	}
	f, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("a disk of the member's own needs loop devices: %w", err)
	}
	return f.Close()
}

// Make makes the file with a file system of size bytes, and mounts it. The mount point must exist.
func Make(ctx context.Context, d Disk, size int64) error {
	f, err := os.OpenFile(d.Image, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make a disk: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("make a disk: %w", err)
	}
	// Without blocks that only root may use, because members may run as root.
	cmd := exec.CommandContext(ctx, makeFS, "-q", "-F", "-m", "0", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", d.Image)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make a disk: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return d.Mount()
}

// Mount mounts the disk and replays its journal.
func (d Disk) Mount() error {
	loop, err := d.attach()
	if err != nil {
		return fmt.Errorf("attach the disk %s: %w", d.Image, err)
	}
	defer loop.Close() // the kernel detaches the device when it is unmounted
	if err := unix.Mount(loop.Name(), d.Point, "ext4", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("mount the disk %s: %w", d.Image, err)
	}
	return nil
}

// attach attaches the file to a free loop device, which stays open until it is mounted.
func (d Disk) attach() (*os.File, error) {
	image, err := os.OpenFile(d.Image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer image.Close()
	control, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range tries {
		var n int
		if n, err = unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE); err != nil {
			return nil, err
		}
		var loop *os.File
		if loop, err = os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0); err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(image.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		copy(config.Info.File_name[:], d.Image)
		if err = unix.IoctlLoopConfigure(int(loop.Fd()), &config); err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, err
		}
	}
	return nil, err
}

// Mounted reports whether a file system is mounted at the point, or where the user has mounted
// one.
func (d Disk) Mounted() (bool, error) {
	if d.Dir != "" {
		return d.reachable()
	}
	all, err := mounted()
	return slices.ContainsFunc(all, func(m mounts.Mount) bool {
		return m.Point == d.Point && m.Type == "ext4" && strings.HasPrefix(m.Source, "/dev/loop")
	}), err
}

// UnmountBelow unmounts the disks that killed processes left mounted below a directory. Their
// files stay.
func UnmountBelow(ctx context.Context, dir string) error {
	all, err := mounted()
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range all {
		if d := (Disk{Point: m.Point}); strings.HasPrefix(m.Point, filepath.Clean(dir)+"/") {
			if is, err := d.Mounted(); err != nil || !is {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, d.Unmount(ctx))
		}
	}
	return errors.Join(errs...)
}

// Unmount unmounts the disk, if it is mounted. Its file stays. A disk the user has mounted stays
// mounted, but the member's folder and all that fills the disk are removed.
func (d Disk) Unmount(ctx context.Context) error {
	if d.Dir != "" {
		return d.clear()
	}
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	ticker := time.NewTicker(busyEvery)
	defer ticker.Stop()
	for {
		if is, err := d.Mounted(); err != nil || !is {
			return err
		}
		err := unix.Unmount(d.Point, unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unmount the disk %s: %w", d.Image, err)
		}
		if err == nil {
			continue // nothing is mounted over it
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("unmount the disk %s: %w", d.Image, err)
		case <-ticker.C:
		}
	}
}

// Sync puts all writes on disk.
func (d Disk) Sync() error {
	f, err := os.Open(d.Point)
	if err != nil {
		return fmt.Errorf("synchronize the disk: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("synchronize the disk: %w", err)
	}
	return nil
}

// Cut makes the file system lose everything that is not on disk, and refuse everything until it
// is unmounted and mounted again.
func (d Disk) Cut() error {
	if d.Dir != "" {
		return errKept
	}
	if is, err := d.Mounted(); err != nil || !is {
		return errors.Join(errors.New("the disk of the member is not mounted"), err)
	}
	f, err := os.Open(d.Point)
	if err != nil {
		return fmt.Errorf("cut the disk: %w", err)
	}
	defer f.Close()
	how := uint32(noLogFlush)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		return fmt.Errorf("cut the disk: %w", errno)
	}
	probe, err := os.CreateTemp(d.Point, ".dbtester-")
	if err == nil {
		probe.Close()
		return errors.New("cut the disk: it can be written to afterwards")
	}
	if !errors.Is(err, unix.EIO) {
		return fmt.Errorf("cut the disk: %w", err)
	}
	return nil
}

// Fill fills the disk to its last block and returns the number of bytes that took. If it fails, it
// frees them again.
func (d Disk) Fill(ctx context.Context) (size int64, err error) {
	if is, err := d.Mounted(); err != nil || !is {
		return 0, errors.Join(errors.New("the disk of the member is not mounted"), err)
	}
	f, err := os.OpenFile(filepath.Join(d.Point, ballast), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("fill the disk: %w", err)
	}
	defer f.Close()
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Drain())
		}
	}()
	for step := int64(1 << 30); step >= 1<<10; {
		if ctx.Err() != nil {
			return size, context.Cause(ctx)
		}
		switch err := unix.Fallocate(int(f.Fd()), 0, size, step); {
		case err == nil:
			size += step
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC):
			step /= 2
		default:
			return size, fmt.Errorf("fill the disk: %w", err)
		}
	}
	return size, nil
}

// Free returns the number of free bytes on the disk.
func (d Disk) Free() (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(d.Point, &s); err != nil {
		return 0, fmt.Errorf("read the disk: %w", err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// Drain removes the ballast that fills the disk, if there is any.
func (d Disk) Drain() error {
	if err := os.Remove(filepath.Join(d.Point, ballast)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drain the disk: %w", err)
	}
	return nil
}
