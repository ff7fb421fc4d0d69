package results

import (
	"testing"
	"time"
)

func TestDurability(t *testing.T) {
	for filesystem, loses := range map[string]bool{"tmpfs": true, "ramfs": true, "overlay": true, "ext4": false, "xfs": false, "": false} {
		if got := (Disk{Filesystem: filesystem}).LosesPower(); got != loses {
			t.Errorf("data on %q is lost in a power cut: got %t, want %t", filesystem, got, loses)
		}
	}
	for fsync, fast := range map[time.Duration]bool{0: false, 1: true, 19 * time.Microsecond: true, 20 * time.Microsecond: false, time.Millisecond: false} {
		if got := (Disk{FsyncP50: fsync}).SyncsTooFast(); got != fast {
			t.Errorf("an fdatasync of %v is too fast for a disk: got %t, want %t", fsync, got, fast)
		}
	}
}
