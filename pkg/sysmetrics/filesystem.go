package sysmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Filesystem returns the type of the file system that dir lies on, such as
// "ext4", "tmpfs" or "overlay", and its block device as named in
// /proc/diskstats. device is empty if there is none: an overlay has that of its upper
// layer, if this mount namespace shows it, as it does outside of the container. A dir
// that does not exist yet lies where the nearest directory above it does.
func Filesystem(dir string) (fstype, device string, err error) {
	return (&files{root: "/proc"}).filesystem(dir)
}

func (f *files) filesystem(dir string) (fstype, device string, err error) {
	m, device, err := f.mounted(dir)
	return m.fstype, device, err
}

// mounted finds the mount that dir lies on, and its block device.
func (f *files) mounted(dir string) (m mount, device string, err error) { return f.mountedAt(dir, 0) }

// mountedAt is mounted below a number of overlays.
func (f *files) mountedAt(dir string, depth int) (m mount, device string, err error) {
	dir, err = existing(dir)
	if err != nil {
		return mount{}, "", fmt.Errorf("find the file system: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	data, err := f.read("self", "mountinfo")
	if err != nil {
		return mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	mounts, err := parseMountinfo(data)
	if err != nil {
		return mount{}, "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	number := deviceNumber{unix.Major(stat.Dev), unix.Minor(stat.Dev)}
	m, ok := mountOf(mounts, number, dir)
	if !ok {
		return mount{}, "", fmt.Errorf("no mount holds %s", dir)
	}
	if device, err = f.deviceOf(number, m); device == "" && err == nil {
		device = f.upperDevice(m, dir, depth)
	}
	return m, device, err
}

// maxLayers is how many overlays may lie on one another.
const maxLayers = 4

// upperDevice returns the device that an overlay writes to, or "".
func (f *files) upperDevice(m mount, dir string, depth int) string {
	if m.fstype != "overlay" || depth == maxLayers {
		return ""
	}
	for option := range strings.SplitSeq(m.options, ",") {
		upper, found := strings.CutPrefix(option, "upperdir=")
		if upper = unescape(upper); !found || !filepath.IsAbs(upper) || within(dir, upper) {
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

// deviceNumber is how the kernel names a block device, or a file system that has
// none.
type deviceNumber struct{ major, minor uint32 }

// mount is one line of mountinfo.
type mount struct {
	number  deviceNumber
	root    string // the directory of the file system that is mounted
	point   string
	fstype  string
	source  string
	options string // of the file system
	// mountOptions are of this mount alone.
	mountOptions string
}

// parseMountinfo parses proc_pid_mountinfo(5): six fields, any number of optional
// ones, a dash, and three more. Package procfs leaves the octal escapes in paths, so
// mounts with blanks would not be found with its parser.
func parseMountinfo(data []byte) ([]mount, error) {
	var mounts []mount
	for line := range bytes.Lines(data) {
		left, right, ok := strings.Cut(string(line), " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(before) < 6 || len(after) < 2 {
			return nil, fmt.Errorf("mountinfo line %q", line)
		}
		var m mount
		if _, err := fmt.Sscanf(before[2], "%d:%d", &m.number.major, &m.number.minor); err != nil {
			return nil, fmt.Errorf("mountinfo line %q: device: %w", line, err)
		}
		m.mountOptions = before[5]
		m.root, m.point, m.fstype, m.source = unescape(before[3]), unescape(before[4]), after[0], unescape(after[1])
		if len(after) > 2 {
			m.options = after[2]
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape undoes the octal escapes of blanks and backslashes in mountinfo.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountOf finds the mount by device number. File systems with subvolumes (btrfs)
// report numbers of their own; for those the longest mount point above dir
// counts, and of equal ones the last, which lies on top.
func mountOf(mounts []mount, number deviceNumber, dir string) (mount, bool) {
	var found mount
	for _, m := range mounts {
		if m.number == number {
			return m, true
		}
		if within(dir, m.point) && len(m.point) >= len(found.point) {
			found = m
		}
	}
	return found, found.point != ""
}

// within reports whether path is point or below it.
func within(path, point string) bool {
	return path == point || point == "/" || strings.HasPrefix(path, point+"/")
}

// deviceOf names the block device of a mount as diskstats does: by the file
// system's number, else by the number of the device node it was mounted from.
func (f *files) deviceOf(number deviceNumber, m mount) (string, error) {
	data, err := f.read("diskstats")
	if err != nil {
		return "", fmt.Errorf("find the device of %s: %w", m.point, err)
	}
	devices, err := parseDevices(data)
	if err != nil {
		return "", fmt.Errorf("find the device of %s: %w", m.point, err)
	}
	numbers := []deviceNumber{number, m.number}
	var node unix.Stat_t
	if strings.HasPrefix(m.source, "/") && unix.Stat(m.source, &node) == nil && node.Mode&unix.S_IFMT == unix.S_IFBLK {
		numbers = append(numbers, deviceNumber{unix.Major(node.Rdev), unix.Minor(node.Rdev)})
	}
	for _, n := range numbers {
		if name := devices[n]; name != "" {
			return name, nil
		}
	}
	return "", nil
}

// parseDevices returns the names of the block devices in diskstats.
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

// existing returns dir, or the nearest directory above it that exists, without
// symbolic links.
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
