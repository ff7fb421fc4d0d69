package sysmetrics

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDeviceFacts has a disk with a partition.
func TestDeviceFacts(t *testing.T) {
	sys := t.TempDir()
	for name, content := range map[string]string{
		"devices/sda/device/model":      "Fast SSD 1\n",
		"devices/sda/queue/rotational":  "0\n",
		"devices/sda/queue/scheduler":   "none [mq-deadline] bfq\n",
		"devices/sda/queue/write_cache": "write back\n",
		"devices/sda/sda1/partition":    "1\n",
		"devices/dm-0/queue/rotational": "1\n",
	} {
		path := filepath.Join(sys, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(sys, "class", "block"), 0o750); err != nil {
		t.Fatalf("make the folders: %v", err)
	}
	for name, at := range map[string]string{"sda": "sda", "sda1": "sda/sda1", "dm-0": "dm-0"} {
		if err := os.Symlink("../../devices/"+at, filepath.Join(sys, "class", "block", name)); err != nil {
			t.Fatalf("make a symbolic link: %v", err)
		}
	}
	const ssd = "not rotational, scheduler mq-deadline, write cache write back"
	for device, want := range map[string][2]string{
		"sda":  {"Fast SSD 1", ssd},
		"sda1": {"Fast SSD 1", ssd},
		"dm-0": {"", "rotational"},
		"sdb":  {"", ""},
	} {
		if model, queue := deviceFacts(sys, device); model != want[0] || queue != want[1] {
			t.Errorf("%s: want model %q and queue %q, got %q and %q", device, want[0], want[1], model, queue)
		}
	}
}

func TestJoinOptions(t *testing.T) {
	if got, want := joinOptions("rw,relatime", "rw,data=ordered"), "rw,relatime,data=ordered"; got != want {
		t.Errorf("options: want each one once, %q, got %q", want, got)
	}
}

// TestDiskFacts reads the facts about this machine.
func TestDiskFacts(t *testing.T) {
	d, err := DiskFacts(t.TempDir())
	if err != nil || d.Filesystem == "" || d.MountOptions == "" {
		t.Errorf("want the file system and its mount options, got %+v, %v", d, err)
	}
}
