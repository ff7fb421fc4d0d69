package sysmetrics

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// numberOf returns the device number of the file system that contains path.
func numberOf(t *testing.T, path string) string {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatalf("stat the file: %v", err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
}

// TestDeviceNames finds the devices for logical volumes, for partitions and below overlays. The
// test directory stands for the file system; for an overlay, /proc does, because its number is not
// that of a block device.
func TestDeviceNames(t *testing.T) {
	disk, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatalf("resolve the path: %v", err)
	}
	upper := filepath.Join(disk, "upper")
	if err := os.Mkdir(upper, 0o750); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(disk, &stat); err != nil {
		t.Fatalf("stat the file: %v", err)
	}
	device := func(name string) string {
		return fmt.Sprintf("8 0 sda 1 0 3 4 5 0 7 8 0 0 0\n%4d %7d %s 1 0 3 4 5 0 7 8 0 0 0\n", unix.Major(stat.Dev), unix.Minor(stat.Dev), name)
	}
	on := "30 1 " + numberOf(t, disk) + " / " + disk + " rw - "
	overlay := func(upperdir string) string {
		return "40 1 " + numberOf(t, "/proc") + " / /proc rw - overlay overlay rw,lowerdir=/a:/b,upperdir=" + upperdir + ",workdir=/w\n"
	}
	for name, test := range map[string]struct{ dir, mountinfo, device, want string }{
		"a logical volume":                        {disk, on + "xfs /dev/mapper/vg0-data rw\n", "dm-0", "dm-0"},
		"a partition of an NVMe disk":             {disk, on + "ext4 /dev/root rw\n", "nvme0n1p1", "nvme0n1p1"},
		"an overlay":                              {"/proc", on + "ext4 /dev/dm-1 rw\n" + overlay(upper), "dm-1", "dm-1"},
		"an overlay, its layer is not shown here": {"/proc", on + "ext4 /dev/dm-1 rw\n" + overlay("/no/such/layer"), "dm-1", ""},
		"an overlay on itself":                    {"/proc", on + "ext4 /dev/dm-1 rw\n" + overlay("/proc/self"), "dm-1", ""},
		"an overlay without an upper layer":       {"/proc", "40 1 " + numberOf(t, "/proc") + " / /proc ro - overlay overlay ro,lowerdir=/a\n", "dm-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(test.mountinfo, "self", "mountinfo")
			f.write(device(test.device), "diskstats")
			if _, got, err := (&files{root: f.root}).filesystem(test.dir); err != nil || got != test.want {
				t.Errorf("want device %q, got %q and %v", test.want, got, err)
			}
		})
	}
}
