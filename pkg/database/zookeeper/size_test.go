package zookeeper

import (
	"math"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// TestHeap compares with the heap a 3.9.5 member had after a full collection.
func TestHeap(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for _, tt := range []struct{ keys, key, value, measured int64 }{
		{300_000, 16, 16, (113_088 - 10_459) * kib},
		{150_000, 256, 1024, (280_406 - 10_436) * kib},
		{300_000, 256, 1024, (568_346 - 10_436) * kib},
		{20_000, 256, 16384, (354_495 - 10_547) * kib},
	} {
		got := heapNeed(database.Data{Keys: tt.keys, KeySize: tt.key, ValueSize: tt.value}) - heapOther
		if off := math.Abs(float64(got)/float64(tt.measured) - 1); off > 0.06 {
			t.Errorf("%d keys of %d + %d bytes: %d, which is %.1f %% off what was measured (%d)", tt.keys, tt.key, tt.value, got, 100*off, tt.measured)
		}
	}
}

// TestSnapshots: they grow with the keys squared, and an empty java_xmx is no limit.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	o := New()
	disk := func(keys, writes int64) int64 {
		return o.Needs(database.Data{Keys: keys, Writes: writes, KeySize: 256, ValueSize: 1024})[2].Bytes
	}
	if small, large := disk(1_000_000, 1_000_000), disk(10_000_000, 10_000_000); large < 50*small {
		t.Errorf("ten times the keys need %d bytes of disk instead of %d, want far more than ten times as much", large, small)
	}
	if few, many := disk(1000, 1000), disk(1000, 1_000_000); many > few*10_000 {
		t.Errorf("a million updates of 1,000 keys need %d bytes of disk instead of %d, want small snapshots", many, few)
	}
	if o.JavaXmx = ""; o.Needs(database.Data{Keys: 1})[0].Limit != 0 {
		t.Error("java_xmx is empty, and the heap has a limit")
	}
}

// TestAskedSnapshots: a snapshot that control requests has the keys at that moment, which are all
// keys only if the load creates no keys.
func TestAskedSnapshots(t *testing.T) {
	t.Parallel()
	o := New()
	for before, want := range map[int64]int64{0: 500_000, 400_000: 700_000, 1_000_000: 1_000_000} {
		d := database.Data{Keys: 1_000_000, Writes: 1_000_000, Before: before, KeySize: 256, ValueSize: 1024}
		without := o.Needs(d)[2].Bytes
		d.Snapshots = 12
		if got, want := o.Needs(d)[2].Bytes-without, 12*want*(256+1024+snapshotPerKey); got != want {
			t.Errorf("%d of 1,000,000 keys before the load: 12 snapshots need %d bytes of disk, want %d", before, got, want)
		}
	}
}

// TestFitMemory: the heap has at most 60 % of the member memory unless it is given, and a given
// heap must leave room for the JVM.
func TestFitMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, xms, xmx string
		memory         int64
		given          string
		wantXms, want  string
		problem        string
	}{
		{"60 %", "512M", "2G", 2 << 30, "", "512M", "1228M", ""},
		{"less by default", "512M", "2G", 8 << 30, "", "512M", "2G", ""},
		{"the first heap follows", "512M", "2G", 512 << 20, "", "307M", "307M", ""},
		{"room for the rest", "512M", "2G", 256 << 20, "", "106M", "106M", ""},
		{"left to the JVM by default", "", "", 2 << 30, "", "", "1228M", ""},
		{"given", "512M", "1800M", 2 << 30, "java_xmx", "512M", "1800M", ""},
		{"given to the JVM", "512M", "", 2 << 30, "java_xmx", "512M", "", ""},
		{"too large", "512M", "2G", 2 << 30, "java_xmx", "", "", "java_xmx must leave 157 MB of the member's memory (2.1 GB) to the rest of the JVM, got 2G"},
		{"too large at first", "2G", "2G", 2 << 30, "java_xms", "", "", "java_xms must leave 157 MB"},
		{"no heap fits", "512M", "2G", 100 << 20, "", "", "", "memory must be at least 191 MB, got 105 MB"},
	} {
		o := New()
		o.JavaXms, o.JavaXmx = tt.xms, tt.xmx
		err := o.FitMemory(tt.memory, func(option string) bool { return option == tt.given })
		switch {
		case tt.problem != "":
			if err == nil || !strings.HasPrefix(err.Error(), tt.problem) {
				t.Errorf("%s: want %q, got %v", tt.name, tt.problem, err)
			}
		case err != nil || o.JavaXms != tt.wantXms || o.JavaXmx != tt.want:
			t.Errorf("%s: want %q and %q, got %q, %q and %v", tt.name, tt.wantXms, tt.want, o.JavaXms, o.JavaXmx, err)
		}
	}
}
