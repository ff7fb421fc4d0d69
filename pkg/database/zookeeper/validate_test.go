package zookeeper

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   []string // parts of the error, empty for a valid one
	}{
		{"defaults", func(*Options) {}, nil},
		{"the JVM's heap", func(o *Options) { o.JavaXms, o.JavaXmx = "", "" }, nil},
		{"the whole host", func(o *Options) { o.JavaXms, o.JavaXmx = "24G", "24576M" }, nil},
		{"bytes", func(o *Options) { o.JavaXms, o.JavaXmx = "1048576", "2048k" }, nil},
		{"heap", func(o *Options) { o.JavaXmx = "50G" }, []string{"java_xmx must be at most this host's memory, 24 GiB, got 50G"}},
		{"heap at start", func(o *Options) { o.JavaXms, o.JavaXmx = "25g", "" }, []string{"java_xms must be at most this host's memory, 24 GiB, got 25g"}},
		{"huge heap", func(o *Options) { o.JavaXmx = "9999999999999999T" }, []string{`java_xmx must be a size that a machine can have, got "9999999999999999T"`}},
		{"start above most", func(o *Options) { o.JavaXms, o.JavaXmx = "2G", "1024M" }, []string{"java_xms must be at most java_xmx (1024M), got 2G"}},
		{"shell", func(o *Options) { o.JavaXmx = "1G; reboot" }, []string{`java_xmx must be a size such as 512M or 8G, got "1G; reboot"`}},
		{"substitution", func(o *Options) { o.JavaXms = "$(id)" }, []string{`java_xms must be a size such as 512M or 8G, got "$(id)"`}},
		{"another flag", func(o *Options) { o.JavaXms = "1G -version" }, []string{"must be a size such as 512M or 8G"}},
		{"no number", func(o *Options) { o.JavaXmx = "G" }, []string{"must be a size such as 512M or 8G"}},
		{"zero", func(o *Options) { o.JavaXmx = "0G" }, []string{"must be a size such as 512M or 8G"}},
		{"negative", func(o *Options) { o.JavaXmx = "-1G" }, []string{"must be a size such as 512M or 8G"}},
		{"decimal unit", func(o *Options) { o.JavaXmx = "1GB" }, []string{"must be a size such as 512M or 8G"}},
		{"two lines", func(o *Options) { o.JavaXmx = "1G\n" }, []string{"must be a size such as 512M or 8G"}},
		{"classic buffer", func(o *Options) { o.JuteMaxBuffer = 33_554_432 }, nil},
		{"small buffer", func(o *Options) { o.JuteMaxBuffer = 100 }, []string{"jute_max_buffer must be at least 4096, got 100"}},
		{"large buffer", func(o *Options) { o.JuteMaxBuffer = 1 << 31 }, []string{"jute_max_buffer must be at most 2147483647, got 2147483648"}},
		{"tick", func(o *Options) { o.TickTime = 0 }, []string{"tick_time must be at least 1, got 0"}},
		{"limits", func(o *Options) { o.InitLimit, o.SyncLimit = 0, -1 }, []string{"init_limit must be at least 1, got 0", "sync_limit must be at least 1, got -1"}},
		{"snapshots", func(o *Options) { o.SnapCount = 1 }, []string{"snap_count must be at least 2, got 1"}},
		{"connections", func(o *Options) { o.MaxClientConnections = -1 }, []string{"max_client_connections must be at least 0, got -1"}},
		{"backlog", func(o *Options) { o.ListenBacklog = 0 }, []string{"listen_backlog must be at least 1, got 0"}},
		{"allocation", func(o *Options) { o.PreAllocSize = 1<<20 + 1 }, []string{"pre_alloc_size must be at most 1048576 (1 GiB), got 1048577"}},
		{"no parents", func(o *Options) { o.KeyParents = 0 }, []string{"key_parents must be from 1 to 100000, got 0"}},
		{"many parents", func(o *Options) { o.KeyParents = 100_001 }, []string{"key_parents must be from 1 to 100000, got 100001"}},
		{"no transport", func(o *Options) { o.Transport = "grpc" }, []string{`transport must be lean or standard, got "grpc"`}},
		{"heap by its old name", func(o *Options) { o.Flags = []string{"-mx1g"} }, []string{`flag "-mx1g"`}},
		{"flags from a file", func(o *Options) { o.Flags = []string{"-XX:VMOptionsFile=/x"} }, []string{`flag "-XX:VMOptionsFile=/x"`}},
		{"flags", func(o *Options) { o.Flags = []string{"-XX:+UseZGC", "-Dzookeeper.nio.numWorkerThreads=4", "-Xss1m"} }, nil},
		{"heap flag", func(o *Options) { o.Flags = []string{"-Xmx99G"} }, []string{`flag "-Xmx99G" is set by the plan`}},
		{"class path", func(o *Options) { o.Flags = []string{"-cp"} }, []string{`flag "-cp" is set by the plan`}},
		{"fsync flag", func(o *Options) { o.Flags = []string{"-Dzookeeper.forceSync=no"} }, []string{"is set by the plan"}},
		{"no flag", func(o *Options) { o.Flags = []string{"org.example.Main", "@file", "--"} }, []string{`"org.example.Main"`, `"@file"`, `"--"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := New()
			tt.change(o)
			err := o.Validate(database.HostFacts{MemoryBytes: 24 << 30})
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

func TestHeapBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "1": 1, "3k": 3 << 10, "3K": 3 << 10, "512M": 512 << 20, "8g": 8 << 30, "2T": 2 << 40,
	} {
		if got, err := heapBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestFsync(t *testing.T) {
	o := New()
	if o.Fsync() != fsyncEach {
		t.Errorf("by default: %s", o.Fsync())
	}
	o.ForceSync = false
	if o.Fsync() != fsyncNever {
		t.Errorf("without: %s", o.Fsync())
	}
}
