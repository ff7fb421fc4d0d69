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
		want   []string // parts of the error, none for a valid one
	}{
		{"defaults", func(*Options) {}, nil},
		{"the JVM's heap", func(o *Options) { o.JavaXms, o.JavaXmx = "", "" }, nil},
		{"the whole host", func(o *Options) { o.JavaXms, o.JavaXmx = "24G", "24576M" }, nil},
		{"bytes", func(o *Options) { o.JavaXms, o.JavaXmx = "1048576", "2048k" }, nil},
		{"heap", func(o *Options) { o.JavaXmx = "50G" }, []string{"java_xmx 50G is more than this host's 24 GiB"}},
		{"heap at start", func(o *Options) { o.JavaXms, o.JavaXmx = "25g", "" }, []string{"java_xms 25g is more than this host's 24 GiB"}},
		{"huge heap", func(o *Options) { o.JavaXmx = "9999999999999999T" }, []string{`java_xmx "9999999999999999T" is more than any memory`}},
		{"start above most", func(o *Options) { o.JavaXms, o.JavaXmx = "2G", "1024M" }, []string{"java_xms 2G is more than java_xmx 1024M"}},
		{"shell", func(o *Options) { o.JavaXmx = "1G; reboot" }, []string{`java_xmx "1G; reboot" is not a size`}},
		{"substitution", func(o *Options) { o.JavaXms = "$(id)" }, []string{`java_xms "$(id)" is not a size`}},
		{"another flag", func(o *Options) { o.JavaXms = "1G -version" }, []string{"is not a size"}},
		{"no number", func(o *Options) { o.JavaXmx = "G" }, []string{"is not a size"}},
		{"zero", func(o *Options) { o.JavaXmx = "0G" }, []string{"is not a size"}},
		{"negative", func(o *Options) { o.JavaXmx = "-1G" }, []string{"is not a size"}},
		{"decimal unit", func(o *Options) { o.JavaXmx = "1GB" }, []string{"is not a size"}},
		{"two lines", func(o *Options) { o.JavaXmx = "1G\n" }, []string{"is not a size"}},
		{"classic buffer", func(o *Options) { o.JuteMaxBuffer = 33_554_432 }, nil},
		{"small buffer", func(o *Options) { o.JuteMaxBuffer = 100 }, []string{"jute_max_buffer 100 is less than 4096"}},
		{"large buffer", func(o *Options) { o.JuteMaxBuffer = 1 << 31 }, []string{"jute_max_buffer 2147483648 is more than"}},
		{"tick", func(o *Options) { o.TickTime = 0 }, []string{"tick_time 0"}},
		{"limits", func(o *Options) { o.InitLimit, o.SyncLimit = 0, -1 }, []string{"init_limit 0", "sync_limit -1"}},
		{"snapshots", func(o *Options) { o.SnapCount = 1 }, []string{"snap_count 1 is less than 2"}},
		{"connections", func(o *Options) { o.MaxClientConnections = -1 }, []string{"max_client_connections -1"}},
		{"backlog", func(o *Options) { o.ListenBacklog = 0 }, []string{"listen_backlog 0"}},
		{"allocation", func(o *Options) { o.PreAllocSize = 1<<20 + 1 }, []string{"pre_alloc_size 1048577 is more than 1048576"}},
		{"no parents", func(o *Options) { o.KeyParents = 0 }, []string{"key_parents 0"}},
		{"many parents", func(o *Options) { o.KeyParents = 100_001 }, []string{"key_parents 100001"}},
		{"no transport", func(o *Options) { o.Transport = "grpc" }, []string{`transport "grpc"`}},
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
			err := o.Validate(database.HostFacts{MemoryBytes: 24 << 30, CPUs: 2})
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
