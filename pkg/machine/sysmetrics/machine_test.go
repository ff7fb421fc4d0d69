package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestHostFacts(t *testing.T) {
	host, err := HostFacts()
	if err != nil {
		t.Fatalf("describe this machine: %v", err)
	}
	if host.Name == "" || host.OS == "" || host.Kernel == "" || host.CPUModel == "" || host.CPUs < 1 ||
		host.MemoryBytes < 64<<20 || len(host.BootID) < 8 || !strings.HasPrefix(host.NetNS, "net:[") {
		t.Errorf("host %+v", host)
	}
}

func TestHostFactsOfAFixture(t *testing.T) {
	f := newFixture(t)
	f.write("6.1.0\n", "sys", "kernel", "osrelease")
	f.write("MemTotal:       1024 kB\n", "meminfo")
	host, err := hostFacts(&files{root: f.root}, filepath.Join(f.root, "none"))
	if host.MemoryBytes != 1<<20 || host.Kernel != "6.1.0" || host.OS != "linux" || host.BootID != "boot" || host.NetNS != "net:[1]" {
		t.Errorf("host %+v", host)
	}
	if err == nil || !strings.Contains(err.Error(), "CPU's model") {
		t.Errorf("error %v; want one that names the missing cpuinfo only", err)
	}
}

func TestFilesystem(t *testing.T) {
	if fstype, device, err := Filesystem("/proc"); fstype != "proc" || device != "" || err != nil {
		t.Errorf("/proc: %q, %q, %v", fstype, device, err)
	}
	dir := t.TempDir()
	fstype, device, err := Filesystem(dir)
	if err != nil || fstype == "" {
		t.Fatalf("%s: %q, %q, %v", dir, fstype, device, err)
	}
	if later, sameDevice, err := Filesystem(filepath.Join(dir, "not", "yet")); later != fstype || sameDevice != device || err != nil {
		t.Errorf("a directory not yet made: %q, %q, %v; want %q, %q", later, sameDevice, err, fstype, device)
	}
	t.Logf("%s lies on %s, device %q", dir, fstype, device)
}

func TestFilesystemOfAFixture(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatalf("resolve the path: %v", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		t.Fatalf("stat the file: %v", err)
	}
	number := fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	disk := fmt.Sprintf("8 0 sda 1 0 3 4 5 0 7 8 0 0 0\n%d %d dm-3 1 0 3 4 5 0 7 8 0 0 0\n", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	const other = "1 0 7:7 / / rw - ext4 /dev/other rw\n"
	for name, test := range map[string]struct{ mountinfo, diskstats, fstype, device string }{
		"by number, whatever its source is called": {other + "2 1 " + number + " / /data rw - xfs /dev/mapper/vg-data rw\n", disk, "xfs", "dm-3"},
		"no device":                     {other + "2 1 " + number + " / /data rw - tmpfs tmpfs rw\n", "8 0 sda 1 0 3 4 5 0 7 8 0 0 0\n", "tmpfs", ""},
		"subvolume: the nearest mount":  {other + "2 1 7:8 / " + filepath.Dir(dir) + " rw - btrfs /dev/none rw\n", "7 8 sdb 1 0 3 4 5 0 7 8 0 0 0\n", "btrfs", "sdb"},
		"not a mount of a similar name": {other + "2 1 7:8 / " + dir[:len(dir)-1] + " rw - btrfs /dev/none rw\n", "7 7 sdc 1 0 3 4 5 0 7 8 0 0 0\n", "ext4", "sdc"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(test.mountinfo, "self", "mountinfo")
			f.write(test.diskstats, "diskstats")
			fstype, device, err := (&files{root: f.root}).filesystem(dir)
			if err != nil || fstype != test.fstype || device != test.device {
				t.Errorf("%q, %q, %v; want %q, %q", fstype, device, err, test.fstype, test.device)
			}
		})
	}
}

func TestFindInterface(t *testing.T) {
	real := &files{root: "/proc"}
	for _, addr := range []string{"127.0.0.1", "127.0.0.3", "localhost"} {
		if got, err := real.findInterface(addr); got != "lo" || err != nil {
			t.Errorf("%s: %q, %v", addr, got, err)
		}
	}
	if got, err := (&files{root: newFixture(t).root}).findInterface(""); got != "eth0" || err != nil {
		t.Errorf("default route: %q, %v", got, err)
	}
}

func TestFsyncP50(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	p50, err := FsyncP50(t.Context(), dir)
	if took := time.Since(began); err != nil || p50 <= 0 || p50 > took {
		t.Errorf("the median is %v, %v, want one within the %v of all", p50, err, took)
	}
	t.Logf("fdatasync p50 %v", p50)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FsyncP50(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := FsyncP50(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
