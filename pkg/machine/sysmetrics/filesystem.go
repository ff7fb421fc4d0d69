package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process/mounts"
)

// Filesystem returns the file system type for dir, such as "ext4", "tmpfs" or "overlay", and its
// block device as named in /proc/diskstats, or "" if it has no device. An overlay has its upper
// layer's device, if this mount namespace shows that layer, which it does outside the container. If
// dir does not exist yet, the nearest existing parent counts.
func Filesystem(dir string) (fstype, device string, err error) {
	return (&files{root: "/proc"}).filesystem(dir)
}

func (f *files) filesystem(dir string) (fstype, device string, err error) {
	m, device, err := f.mounted(dir)
	return m.Type, device, err
}

// mounted finds the mount that contains dir, and its block device.
func (f *files) mounted(dir string) (m mounts.Mount, device string, err error) {
	return f.mountedAt(dir, 0)
}

// mountedAt implements mounted, below depth overlays.
func (f *files) mountedAt(dir string, depth int) (m mounts.Mount, device string, err error) {
	dir, err = existing(dir)
	if err != nil {
		return mounts.Mount{}, "", fmt.Errorf("find the file system: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return mounts.Mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	data, err := f.read("self", "mountinfo")
	if err != nil {
		return mounts.Mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	all, err := mounts.Parse(data)
	if err != nil {
		return mounts.Mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	number := deviceNumberOf(uint64(stat.Dev))
	m, ok := mountOf(all, number, dir)
	if !ok {
		return mounts.Mount{}, "", fmt.Errorf("no mount holds %s", dir)
	}
	if device, err = f.deviceOf(number, m); device == "" && err == nil {
		device = f.upperDevice(m, dir, depth)
	}
	return m, device, err
}

// maxLayers bounds the depth of nested overlays.
const maxLayers = 4

// upperDevice returns the device that an overlay writes to, or "".
func (f *files) upperDevice(m mounts.Mount, dir string, depth int) string {
	if m.Type != "overlay" || depth == maxLayers {
		return ""
	}
	for option := range strings.SplitSeq(m.Options, ",") {
		upper, found := strings.CutPrefix(option, "upperdir=")
		if upper = mounts.Unescape(upper); !found || !filepath.IsAbs(upper) || mounts.Within(dir, upper) {
			continue
		}
		if info, err := os.Stat(upper); err != nil || !info.IsDir() {
			return ""
		}
		_, device, err := f.mountedAt(upper, depth+1)
		if err != nil {
			return ""
		}
		return device
	}
	return ""
}

// deviceNumber is the kernel number for a block device, or for a file system without a device.
type deviceNumber struct{ major, minor uint32 }

func deviceNumberOf(dev uint64) deviceNumber { return deviceNumber{unix.Major(dev), unix.Minor(dev)} }

// deviceOfMount returns the device number of a mount.
func deviceOfMount(m mounts.Mount) deviceNumber { return deviceNumber{m.Major, m.Minor} }

// mountOf finds the mount by device number. File systems with subvolumes (btrfs) report different
// numbers. For these, the mount is the one with the longest mount point above dir; among equal ones
// it is the last, which is on top.
func mountOf(all []mounts.Mount, number deviceNumber, dir string) (mounts.Mount, bool) {
	var found mounts.Mount
	for _, m := range all {
		if deviceOfMount(m) == number {
			return m, true
		}
		if mounts.Within(dir, m.Point) && len(m.Point) >= len(found.Point) {
			found = m
		}
	}
	return found, found.Point != ""
}

// deviceOf names the block device for a mount as diskstats does: by the file system number, or else
// by that of the mounted device node.
func (f *files) deviceOf(number deviceNumber, m mounts.Mount) (string, error) {
	data, err := f.read("diskstats")
	if err != nil {
		return "", fmt.Errorf("find the device of %s: %w", m.Point, err)
	}
	devices, err := parseDevices(data)
	if err != nil {
		return "", fmt.Errorf("find the device of %s: %w", m.Point, err)
	}
	numbers := []deviceNumber{number, deviceOfMount(m)}
	var node unix.Stat_t
	if strings.HasPrefix(m.Source, "/") && unix.Stat(m.Source, &node) == nil && node.Mode&unix.S_IFMT == unix.S_IFBLK {
		numbers = append(numbers, deviceNumberOf(uint64(node.Rdev)))
	}
	for _, n := range numbers {
		if name := devices[n]; name != "" {
			return name, nil
		}
	}
	return "", nil
}

// parseDevices returns the block device names in diskstats.
func parseDevices(data []byte) (map[deviceNumber]string, error) {
	names := map[deviceNumber]string{}
	for line := range bytes.Lines(data) {
		var n deviceNumber
		var name string
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if _, err := fmt.Sscan(string(line), &n.major, &n.minor, &name); err != nil {
			return nil, fmt.Errorf("diskstats line %q: %w", line, err)
		}
		names[n] = name
	}
	return names, nil
}

// existing returns dir, or its nearest existing parent, with symbolic links resolved.
func existing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		real, err := filepath.EvalSymlinks(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == string(os.PathSeparator) {
			return real, err
		}
		dir = filepath.Dir(dir)
	}
}
