package sysmetrics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/coreos/dbtester/pkg/metric"
)

// kernel writes /proc and control groups from testdata.
func kernel(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatalf("read the fixture: %v", err)
	}
	root := t.TempDir()
	for _, f := range archive.Files {
		path := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(f.Data), "ROOT", root)), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "self", "ns"), 0o750); err != nil {
		t.Fatalf("make the folders: %v", err)
	}
	if err := os.Symlink("net:[1]", filepath.Join(root, "self", "ns", "net")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	return root
}

// TestKernels samples machines with different kernels. A metric that a kernel lacks is unknown,
// which is neither 0 nor an error.
func TestKernels(t *testing.T) {
	both := map[metric.Name]float64{
		metric.Processes: 1, metric.TransmitBytes: 73998197, metric.FDs: 1,
		metric.ReadBytes: 1024, metric.WriteBytes: 2048,
	}
	for name, test := range map[string]struct {
		device, group string
		want          map[metric.Name]float64
	}{
		"proc-6.18.txtar": {"nvme0n1p1", "cgroup/system.slice/etcd.service", map[metric.Name]float64{
			metric.CPUSeconds: 20, metric.RunDelay: 1.5, metric.RSSAnonBytes: 12112 << 10,
			metric.HostStealSeconds: 12.03, metric.HostIOWaitSeconds: 29.86,
			metric.CPUPressureSome: 421.699667, metric.CPUPressureFull: 0,
			metric.MemoryPressureSome: 17e-6, metric.MemoryPressureFull: 5e-6,
			metric.IOPressureSome: 50.783697, metric.IOPressureFull: 30.510047,
			metric.TCPSentSegments: 684055, metric.TCPRetransmitted: 32, metric.TCPTimeouts: 2, metric.TCPListenDrops: 0,
			metric.TCPSendQueue: 0x400 + 0x10, metric.TCPReceiveQueue: 0x200 + 0x20,
			metric.GroupThrottledSeconds: .75, metric.GroupThrottledPeriods: 27,
			metric.GroupMemoryBytes: 100 << 20, metric.GroupMemoryLimitHits: 31,
			metric.GroupAnonBytes: 61440000, metric.GroupCacheBytes: 40 << 20, metric.GroupMemoryPressure: .25, metric.GroupMemoryPressureFull: .125,
			metric.GroupCPUPressureSome: 1.5, metric.GroupCPUPressureFull: metric.Unknown, // before 5.13
			metric.GroupIOPressureSome: .5, metric.GroupIOPressureFull: .375,
			metric.BusiestCPU: 0, metric.BusiestDelay: 0, metric.MillisBusy: 890,
			metric.WritesCompleted: 4900, metric.SectorsWritten: 69000,
		}},
		"proc-3.10.txtar": {"dm-0", "cgroup/cpu,cpuacct/system.slice/zookeeper.service", map[metric.Name]float64{
			metric.CPUSeconds: 19.78, metric.RunDelay: metric.Unknown, metric.RSSAnonBytes: metric.Unknown,
			metric.HostStealSeconds: 0, metric.HostIOWaitSeconds: 35.52,
			metric.CPUPressureSome: metric.Unknown, metric.CPUPressureFull: metric.Unknown,
			metric.MemoryPressureSome: metric.Unknown, metric.MemoryPressureFull: metric.Unknown,
			metric.IOPressureSome: metric.Unknown, metric.IOPressureFull: metric.Unknown,
			metric.TCPRetransmitted: 348, metric.TCPTimeouts: 0, metric.TCPListenDrops: 0,
			metric.TCPSendQueue: 0x400, metric.TCPReceiveQueue: 0x200,
			metric.GroupThrottledSeconds: 1.25, metric.GroupThrottledPeriods: 11,
			metric.GroupMemoryBytes: 640e6, metric.GroupMemoryLimitHits: 3,
			metric.GroupAnonBytes: 500e6, metric.GroupCacheBytes: 140e6, metric.GroupMemoryPressure: metric.Unknown, metric.GroupMemoryPressureFull: metric.Unknown,
			metric.GroupCPUPressureSome: metric.Unknown, metric.GroupIOPressureFull: metric.Unknown, metric.BusiestCPU: metric.Unknown,
			metric.WritesCompleted: 29000000,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := kernel(t, name)
			s, err := NewSampler(Options{Root: root, PIDs: pids(4242), Tree: true, Device: test.device})
			if err != nil {
				t.Fatalf("start the sampler: %v", err)
			}
			got := sample(t, s)
			if want := filepath.Join(root, test.group); got.Group != want {
				t.Errorf("the control group must be %q, got %q", want, got.Group)
			}
			for _, values := range []map[metric.Name]float64{both, test.want} {
				for name, want := range values {
					if v := got.Get(name); v != want {
						t.Errorf("%s must be %v, got %v", name, want, v)
					}
				}
			}
		})
	}
}

// The socket tables are expensive, so samples soon after do not have them.
func TestCostlyFilesAreReadSeldom(t *testing.T) {
	s, err := NewSampler(Options{Root: kernel(t, "proc-6.18.txtar"), PIDs: pids(4242)})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	if first := sample(t, s); first.Get(metric.TCPSendQueue) < 0 {
		t.Error("the first sample must know the queues")
	}
	if second := sample(t, s); second.Get(metric.TCPSendQueue) >= 0 || second.Get(metric.TCPRetransmitted) < 0 {
		t.Errorf("a sample soon after must know the retransmissions and not the queues, got %v", second.Values)
	}
}

// A named group is sampled before a process is known, as soon as the group exists.
func TestNamedGroup(t *testing.T) {
	for name, dirs := range map[string][]string{
		"proc-6.18.txtar": {"cgroup/system.slice/etcd.service"},
		"proc-3.10.txtar": {"cgroup/cpu,cpuacct/system.slice/zookeeper.service", "cgroup/memory/system.slice/zookeeper.service"},
	} {
		root := kernel(t, name)
		for i := range dirs {
			dirs[i] = filepath.Join(root, dirs[i])
		}
		if err := os.Rename(filepath.Join(root, "cgroup"), filepath.Join(root, "later")); err != nil {
			t.Fatalf("hide the groups: %v", err)
		}
		s, err := NewSampler(Options{Root: root, Group: dirs})
		if err != nil {
			t.Fatalf("start the sampler: %v", err)
		}
		if got := sample(t, s); got.Group != "" || got.Get(metric.GroupThrottledPeriods) >= 0 {
			t.Errorf("%s: a group that is not there must have no values, got %q", name, got.Group)
		}
		if err := os.Rename(filepath.Join(root, "later"), filepath.Join(root, "cgroup")); err != nil {
			t.Fatalf("show the groups: %v", err)
		}
		want := map[string][2]float64{"proc-6.18.txtar": {7, 100 << 20}, "proc-3.10.txtar": {11, 640e6}}[name] // not with the slice's 20
		got := sample(t, s)
		if got.Group != dirs[0] || got.Get(metric.GroupThrottledPeriods) != want[0] || got.Get(metric.GroupMemoryBytes) != want[1] {
			t.Errorf("%s: want %v of %q, got %v and %v of %q", name, want, dirs[0],
				got.Get(metric.GroupThrottledPeriods), got.Get(metric.GroupMemoryBytes), got.Group)
		}
	}
}

// Metrics that a named group lacks are unknown, even if other groups of its process have them. A
// main process that has just ended makes no metric unknown.
func TestNamedGroupAlone(t *testing.T) {
	const cpu, memory = "cgroup/cpu,cpuacct/dbtester/r/m", "cgroup/memory/dbtester/r/m"
	throttled := map[metric.Name]float64{metric.GroupThrottledPeriods: 5, metric.GroupThrottledSeconds: 2}
	used := map[metric.Name]float64{metric.GroupMemoryBytes: 1e6}
	for name, tt := range map[string]struct {
		dirs []string
		ends bool
		want []map[metric.Name]float64
	}{
		"none":             {nil, false, []map[metric.Name]float64{{metric.GroupThrottledPeriods: 11, metric.GroupMemoryBytes: 640e6, metric.GroupMemoryPressure: .25}}},
		"processors alone": {[]string{cpu}, false, []map[metric.Name]float64{throttled}},
		"memory alone":     {[]string{memory}, false, []map[metric.Name]float64{used}},
		"both":             {[]string{cpu, memory}, false, []map[metric.Name]float64{throttled, used}},
		"a process ends":   {[]string{cpu, memory}, true, []map[metric.Name]float64{throttled, used}},
	} {
		t.Run(name, func(t *testing.T) {
			root := hybrid(t)
			f := &fixture{t: t, root: root}
			f.write("nr_periods 9\nnr_throttled 5\nthrottled_time 2000000000\n", cpu, "cpu.stat")
			f.write("1000000\n", memory, "memory.usage_in_bytes")
			if tt.ends {
				if err := os.Remove(filepath.Join(root, "4242", "cgroup")); err != nil {
					t.Fatalf("end the process: %v", err)
				}
			}
			o := Options{Root: root, PIDs: pids(4242)}
			for _, dir := range tt.dirs {
				o.Group = append(o.Group, filepath.Join(root, dir))
			}
			s, err := NewSampler(o)
			if err != nil {
				t.Fatalf("start the sampler: %v", err)
			}
			got := sample(t, s)
			for _, want := range tt.want {
				if !has(got, want) {
					t.Errorf("want %v, got %v", want, got.Values)
				}
			}
			if len(tt.dirs) == 0 {
				return // the fixture has the files that the groups lack
			}
			if got.Group != o.Group[0] {
				t.Errorf("the group must be %q, got %q", o.Group[0], got.Group)
			}
			for _, m := range metric.System().Metrics() {
				known := false
				for _, want := range tt.want {
					_, in := want[m.Name]
					known = known || in
				}
				if m.Scope == metric.Group && !known && got.Get(m.Name) != metric.Unknown {
					t.Errorf("%s must be unknown, got %v", m.Name, got.Get(m.Name))
				}
			}
		})
	}
}

// hybrid returns a version 1 machine that also has a version 2 hierarchy.
func hybrid(t *testing.T) (root string) {
	t.Helper()
	root = kernel(t, "proc-3.10.txtar")
	f := &fixture{t: t, root: root}
	f.write("some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=125000\n", "cgroup", "unified", "memory.pressure")
	for file, more := range map[string]string{
		"self/mountinfo": "29 23 0:26 / " + root + "/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		"4242/cgroup":    "0::/\n",
	} {
		was, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatalf("read a file of the fixture: %v", err)
		}
		f.write(string(was)+more, file)
	}
	return root
}

// A group that is removed while its process ends leaves no values behind.
func TestRemovedGroup(t *testing.T) {
	root := kernel(t, "proc-6.18.txtar")
	s, err := NewSampler(Options{Root: root, PIDs: pids(4242)})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	sample(t, s)
	if err := os.RemoveAll(filepath.Join(root, "cgroup")); err != nil {
		t.Fatalf("remove the groups: %v", err)
	}
	if got := sample(t, s); got.Get(metric.GroupMemoryBytes) >= 0 || got.Get(metric.GroupThrottledSeconds) >= 0 {
		t.Errorf("a removed group must have no values, got %v", got.Values)
	}
}

// Files are read by line, however long they are.
func TestLines(t *testing.T) {
	root := t.TempDir()
	line := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		content string
		want    int
		fails   bool
	}{
		"empty":          {"", 0, false},
		"no newline":     {"a\nb", 2, false},
		"longer":         {strings.Repeat(line+"\n", 100), 100, false},
		"one whole":      {strings.Repeat("y", bufferBytes-1) + "\n", 1, false},
		"one too long":   {strings.Repeat("y", bufferBytes+1) + "\n", 0, true},
		"blank in there": {"a\n\nb\n", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(root, "file"), []byte(test.content), 0o600); err != nil {
				t.Fatalf("write a file for the test: %v", err)
			}
			var got []string
			err := (&files{root: root}).lines(func(l []byte) error { got = append(got, string(l)); return nil }, "file")
			if len(got) != test.want || (err != nil) != test.fails {
				t.Errorf("want %d lines and an error %v, got %d and %v", test.want, test.fails, len(got), err)
			}
			if joined := strings.Join(got, "\n"); !test.fails && joined != strings.TrimSuffix(strings.ReplaceAll(test.content, "\n\n", "\n"), "\n") {
				t.Error("the lines must be those of the file")
			}
		})
	}
}
