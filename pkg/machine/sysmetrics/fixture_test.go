package sysmetrics

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// fixture is a made-up /proc.
type fixture struct {
	t    *testing.T
	root string
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, root: t.TempDir()}
	f.write("1.00 2.00 3.00 1/100 9\n", "loadavg")
	f.write("cpu  100 10 200 9999 9999 30 40 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", "stat")
	f.write("8 0 sda 1 0 3 4 5 0 7 8 0 0 0\n", "diskstats")
	f.write("eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n", "net", "dev")
	f.write("Iface Destination Gateway Flags RefCnt Use Metric Mask\neth0 00000000 1 3 0 0 0 00000000\n", "net", "route")
	f.write("boot\n", "sys", "kernel", "random", "boot_id")
	if err := os.MkdirAll(filepath.Join(f.root, "self", "ns"), 0o750); err != nil {
		t.Fatalf("make the folders: %v", err)
	}
	if err := os.Symlink("net:[1]", filepath.Join(f.root, "self", "ns", "net")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	return f
}

func (f *fixture) write(content string, elem ...string) {
	f.t.Helper()
	path := filepath.Join(append([]string{f.root}, elem...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		f.t.Fatalf("make the folders: %v", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatalf("write a file for the test: %v", err)
	}
}

// switches counts the context switches of a task.
type switches struct{ voluntary, nonvoluntary int64 }

// fake is a made-up process. Context switches are by thread id.
type fake struct {
	pid, ppid, start int
	own, waited      int
	read, write      int
	threads          map[int]switches
	state            string
	exiting          bool // has released its memory, though its state does not show it yet
}

// put makes the process as if it had always been in this state.
func (f *fixture) put(p fake) {
	f.t.Helper()
	f.end(p.pid)
	dir := strconv.Itoa(p.pid)
	if p.state == "" {
		p.state = "S (sleeping)"
	}
	if p.threads == nil {
		p.threads = map[int]switches{p.pid: {}}
	}
	f.write(fmt.Sprintf("%d (p%d) %c %d 0 0 0 0 0 0 0 0 0 %d 0 %d 0 20 0 1 0 %d", p.pid, p.pid, p.state[0], p.ppid, p.own, p.waited, p.start), dir, "stat")
	f.write(fmt.Sprintf("read_bytes: %d\nwrite_bytes: %d\n", p.read, p.write), dir, "io")
	f.write("", dir, "fd", "0")
	f.write("", dir, "fd", "1")
	for tid, s := range p.threads {
		status := fmt.Sprintf("State:\t%s\nThreads:\t%d\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
			p.state, len(p.threads), s.voluntary, s.nonvoluntary)
		if p.state[0] != 'Z' && !p.exiting {
			status += "VmSize:\t4 kB\nVmRSS:\t3 kB\nRssAnon:\t2 kB\nVmHWM:\t5 kB\n"
		}
		f.write(status, dir, "task", strconv.Itoa(tid), "status")
		delay := fmt.Sprintf("99 %d 9\n", int64(tid)*5e8) // half a second times the thread number
		f.write(delay, dir, "task", strconv.Itoa(tid), "schedstat")
		if tid == p.pid {
			f.write(delay, dir, "schedstat")
			f.write(status, dir, "status")
		}
	}
}

// end removes the process.
func (f *fixture) end(pid int) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.root, strconv.Itoa(pid))); err != nil {
		f.t.Fatalf("remove the folder: %v", err)
	}
}

func (f *fixture) sampler(o Options) *Sampler {
	f.t.Helper()
	o.Root = f.root
	s, err := NewSampler(o)
	if err != nil {
		f.t.Fatalf("start the sampler: %v", err)
	}
	return s
}

func pids(pids ...int) func() []int { return func() []int { return pids } }

func sample(t *testing.T, s *Sampler) results.Sample {
	t.Helper()
	got, err := s.Sample()
	if err != nil {
		t.Fatalf("sample: %v", err)
	}
	return got
}

// has reports whether the sample has these values.
func has(s results.Sample, values map[metric.Name]float64) bool {
	for name, want := range values {
		if s.Get(name) != want {
			return false
		}
	}
	return true
}

// TestKernelWithoutSchedstat has processes without a file that depends on the kernel configuration.
// They are still sampled.
func TestKernelWithoutSchedstat(t *testing.T) {
	f := newFixture(t)
	f.put(fake{pid: 10, ppid: 1, start: 5, own: 100})
	if err := os.Remove(filepath.Join(f.root, "10", "schedstat")); err != nil {
		t.Fatalf("remove the file: %v", err)
	}
	got := sample(t, f.sampler(Options{PIDs: pids(10)}))
	if !has(got, map[metric.Name]float64{metric.CPUSeconds: 1, metric.Processes: 1, metric.RunDelay: metric.Unknown}) {
		t.Errorf("want a process of 1 s whose run delay is unknown, got %+v", got)
	}
}

func TestSampleOfAFixture(t *testing.T) {
	f := newFixture(t)
	f.put(fake{pid: 10, ppid: 1, start: 5, own: 150, waited: 50, read: 100, write: 200, threads: map[int]switches{10: {1, 2}, 11: {10, 20}}})
	f.put(fake{pid: 20, ppid: 10, start: 6, own: 25, read: 1, write: 2, threads: map[int]switches{20: {100, 200}}})
	f.put(fake{pid: 30, ppid: 20, start: 7, own: 5, state: "Z (zombie)"})
	f.put(fake{pid: 99, ppid: 1, start: 1, own: 9999})
	s := f.sampler(Options{PIDs: pids(10), Tree: true, Device: "sda", Clients: func() int64 { return 7 }})
	want := results.Sample{
		Program: "p10", State: "S (sleeping)", PID: 10, PPID: 1,
		Device: "sda", Interface: "eth0", BootID: "boot", NetNS: "net:[1]",
		Values: metric.SystemValues(map[metric.Name]float64{
			metric.CPUSeconds: 2.30, metric.CPUPercent: 0,
			metric.RSSBytes: 2 * 3 * 1024, metric.RSSAnonBytes: 2 * 2 * 1024, metric.PeakRSSBytes: 2 * 5 * 1024, metric.VirtualBytes: 2 * 4 * 1024,
			metric.FDs: 4, metric.Threads: 3, metric.Processes: 2,
			metric.VoluntarySwitches: 111, metric.NonvoluntarySwitches: 222,
			metric.ReadBytes: 101, metric.WriteBytes: 202,
			metric.Load1: 1, metric.Load5: 2, metric.Load15: 3,
			metric.ReadsCompleted: 1, metric.SectorsRead: 3, metric.MillisReading: 4,
			metric.WritesCompleted: 5, metric.SectorsWritten: 7, metric.MillisWriting: 8,
			metric.ReceiveBytes: 1, metric.ReceivePackets: 2, metric.TransmitBytes: 3, metric.TransmitPackets: 4,
			metric.Clients: 7, metric.RunDelay: (10 + 11 + 20 + 30) * 0.5, metric.HostCPUSeconds: 3.6,
		}),
	}
	got := sample(t, s)
	for _, m := range metric.System().Metrics() { // others may be declared
		if want.Get(m.Name) >= 0 && got.Get(m.Name) != want.Get(m.Name) {
			t.Errorf("%s is %g, want %g", m.Name, got.Get(m.Name), want.Get(m.Name))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(results.Sample{}, "UnixNano", "Values")); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}

	alone := sample(t, f.sampler(Options{PIDs: pids(10)}))
	if alone.Device != "" || !has(alone, map[metric.Name]float64{
		metric.CPUSeconds: 1.5, metric.Processes: 1, metric.ReadBytes: 100, metric.Clients: -1, metric.ReadsCompleted: -1,
	}) {
		t.Errorf("without descendants: %+v", alone)
	}
}

// Both ways to find children must see the same tree.
func TestChildrenListedByThreads(t *testing.T) {
	f := newFixture(t)
	f.write("", "thread-self", "children")
	f.put(fake{pid: 10, start: 5, threads: map[int]switches{10: {}, 11: {}}})
	f.write("20 ", "10", "task", "10", "children")
	f.write("21 22 ", "10", "task", "11", "children")
	for _, pid := range []int{20, 21} { // 22 has just ended
		f.put(fake{pid: pid, start: 6, own: 100})
	}
	if got := sample(t, f.sampler(Options{PIDs: pids(10), Tree: true})); !has(got, map[metric.Name]float64{metric.Processes: 3, metric.CPUSeconds: 2}) {
		t.Errorf("%+v; want 3 processes and 2 CPU seconds", got)
	}
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	f := newFixture(t)
	f.put(fake{pid: 10, start: 5, own: 100})
	s := f.sampler(Options{PIDs: pids(10), Device: "sda"})
	f.write("garbage", "10", "io")
	f.write("garbage", "loadavg")
	f.write("", "diskstats")
	f.write("", "net", "dev")
	got, err := s.Sample()
	if err == nil {
		t.Error("no error")
	}
	for _, name := range []metric.Name{
		metric.ReadBytes, metric.WriteBytes, metric.ReadsCompleted, metric.MillisWriting,
		metric.ReceiveBytes, metric.TransmitPackets, metric.Load5,
	} {
		if value := got.Get(name); value != metric.Unknown {
			t.Errorf("%s is %g, want it unknown", name, value)
		}
	}
	if !has(got, map[metric.Name]float64{metric.CPUSeconds: 1, metric.FDs: 2}) {
		t.Errorf("what can be read is lost: %+v", got)
	}
}

// A tree without processes has unknown memory, not 0 bytes. Its counters stay.
func TestEndedTreeHasNoGauges(t *testing.T) {
	running := fake{pid: 10, ppid: 1, start: 5, own: 100, read: 10, write: 20, threads: one(10, 5)}
	zombie, exiting := running, running
	zombie.state, zombie.own = "Z (zombie)", 130
	exiting.state, exiting.exiting, exiting.own = "R (running)", true, 130
	for name, tt := range map[string]struct {
		end   func(f *fixture)
		cpu   float64
		state string
	}{
		"reaped":  {func(f *fixture) { f.end(10) }, 1, ""},
		"zombie":  {func(f *fixture) { f.put(zombie) }, 1.3, zombie.state},
		"exiting": {func(f *fixture) { f.put(exiting) }, 1.3, exiting.state},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(running)
			s := f.sampler(Options{PIDs: pids(10), Tree: true})
			good := sample(t, s)
			if !has(good, map[metric.Name]float64{metric.Processes: 1, metric.CPUPercent: 0, metric.RSSBytes: 3 * 1024}) {
				t.Fatalf("while it runs: %+v", good)
			}
			tt.end(f)
			want := good
			for _, name := range []metric.Name{
				metric.RSSBytes, metric.RSSAnonBytes, metric.PeakRSSBytes, metric.VirtualBytes, metric.FDs, metric.Threads, metric.CPUPercent,
			} {
				want.Set(name, metric.Unknown)
			}
			want.Set(metric.Processes, 0)
			want.Set(metric.CPUSeconds, tt.cpu)
			want.State = tt.state
			if diff := cmp.Diff(want, sample(t, s), cmpopts.IgnoreFields(results.Sample{}, "UnixNano", "PeriodNS")); diff != "" {
				t.Errorf("after its end (-want +got):\n%s", diff)
			}
		})
	}
}

// When one of several processes ends, only its gauges disappear.
func TestGaugesAreOfThoseThatRun(t *testing.T) {
	f := newFixture(t)
	f.put(fake{pid: 10, ppid: 1, start: 5, own: 100})
	f.put(fake{pid: 20, ppid: 10, start: 6, own: 50})
	s := f.sampler(Options{PIDs: pids(10), Tree: true})
	sample(t, s)
	f.end(20)
	got := sample(t, s)
	if got.Get(metric.CPUPercent) < 0 || !has(got, map[metric.Name]float64{
		metric.Processes: 1, metric.RSSBytes: 3 * 1024, metric.FDs: 2, metric.Threads: 1, metric.CPUSeconds: 1.5,
	}) {
		t.Errorf("%+v", got)
	}
	f.put(fake{pid: 30, ppid: 1, start: 9, own: 5})
	before := sample(t, f.sampler(Options{PIDs: pids()}))
	if !has(before, map[metric.Name]float64{
		metric.Processes: 0, metric.RSSBytes: -1, metric.FDs: -1, metric.CPUPercent: -1, metric.CPUSeconds: 0,
	}) {
		t.Errorf("without any process: %+v", before)
	}
}

func TestUnknownOverridesAreRefused(t *testing.T) {
	f := newFixture(t)
	for _, o := range []Options{{Device: "sdz"}, {Interface: "eth9"}} {
		o.Root = f.root
		if _, err := NewSampler(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
