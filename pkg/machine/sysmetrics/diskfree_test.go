package sysmetrics

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/metric"
)

// The free space is that on the data directory's file system, once it exists.
func TestFreeBytes(t *testing.T) {
	dir := t.TempDir()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatalf("statfs: %v", err)
	}
	if got, all := freeBytes(dir), float64(s.Blocks)*float64(s.Bsize); got < 0 || got > all {
		t.Errorf("%v bytes are free of %v", got, all)
	}
	if got := freeBytes(filepath.Join(dir, "none")); got != metric.Unknown {
		t.Errorf("a directory that does not exist has %v bytes free", got)
	}
	// A full disk is known.
	for bytes, want := range map[float64]int64{metric.Unknown: 0, 0: 1, 4096: 4096} {
		if got := atLeastOne(bytes); got != want {
			t.Errorf("%v free bytes are %d, want %d", bytes, got, want)
		}
	}
	if got := FreeBytes(filepath.Join(dir, "none")); got != 0 {
		t.Errorf("a directory that does not exist has %d bytes free", got)
	}
	sampler, err := NewSampler(Options{Dir: dir, Interface: "lo"})
	if err != nil {
		t.Fatalf("make a sampler: %v", err)
	}
	sample, _ := sampler.Sample()
	if got := sample.Get(metric.DiskFree); got < 0 {
		t.Errorf("the sample has %v free bytes", got)
	}
}
