package sysmetrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spawn starts a shell script that ends with the test, with everything that it started.
func spawn(t testing.TB, script string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the command: %v", err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestSampleOfThisProcess(t *testing.T) {
	s, err := NewSampler(Options{PIDs: pids(os.Getpid()), Dir: t.TempDir(), Addr: "127.0.0.1"})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	if s.Interface() != "lo" {
		t.Errorf("interface %q", s.Interface())
	}
	before := time.Now()
	got := sample(t, s)
	if wall := time.Unix(0, got.UnixNano); wall.Before(before.Add(-time.Second)) || wall.After(time.Now().Add(time.Second)) {
		t.Errorf("taken at %v", wall)
	}
	if got.PID != os.Getpid() || got.PPID != os.Getppid() || got.Program == "" || got.PeriodNS != 0 || got.Get(metric.CPUPercent) != 0 {
		t.Errorf("sample %+v", got)
	}
	if got.Get(metric.RSSBytes) < 1<<20 || got.Get(metric.PeakRSSBytes) < got.Get(metric.RSSBytes) || got.Get(metric.RSSAnonBytes) > got.Get(metric.RSSBytes) || got.Get(metric.VirtualBytes) < got.Get(metric.RSSBytes) {
		t.Errorf("memory: rss %g, anon %g, peak %g, virtual %g", got.Get(metric.RSSBytes), got.Get(metric.RSSAnonBytes), got.Get(metric.PeakRSSBytes), got.Get(metric.VirtualBytes))
	}
	if got.Get(metric.FDs) < 3 || got.Get(metric.Threads) < 2 || got.Get(metric.Processes) != 1 || got.Get(metric.VoluntarySwitches) < 1 || got.BootID == "" || !strings.HasPrefix(got.NetNS, "net:[") {
		t.Errorf("sample %+v", got)
	}
	if got.Get(metric.VoluntarySwitches) == got.Get(metric.Threads) {
		t.Errorf("context switches %g look like the number of threads", got.Get(metric.VoluntarySwitches))
	}
}

func TestBusyChildRaisesCPU(t *testing.T) {
	pid := spawn(t, "sh -c 'while :; do :; done' & wait")
	s, err := NewSampler(Options{PIDs: pids(pid), Tree: true})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	sample(t, s)
	var got results.Sample
	var at time.Time
	// A stop of this process in the middle of a sample adds time of the child to the period.
	const prompt = 50 * time.Millisecond
	for start := time.Now(); (got.Get(metric.CPUPercent) < 5 || time.Since(at) > prompt) && time.Since(start) < 2*time.Minute; {
		time.Sleep(600 * time.Millisecond)
		at, got = time.Now(), sample(t, s)
	}
	// The cores are shared, so the lower bound is generous; one busy process can't
	// take more than one core.
	if got.Get(metric.CPUPercent) < 5 || got.Get(metric.CPUPercent) > 115 {
		t.Errorf("CPU %.1f %%", got.Get(metric.CPUPercent))
	}
	if got.PeriodNS < int64(600*time.Millisecond) {
		t.Errorf("period %v", time.Duration(got.PeriodNS))
	}
	if got.Get(metric.Processes) != 2 {
		t.Errorf("%g processes, want 2", got.Get(metric.Processes))
	}
	again := sample(t, s)
	for time.Since(at) > 100*time.Millisecond { // something stopped this process between the two
		at, got = time.Now(), sample(t, s)
		again = sample(t, s)
	}
	if again.Get(metric.CPUPercent) != got.Get(metric.CPUPercent) || again.PeriodNS > int64(100*time.Millisecond) {
		t.Errorf("CPU %.1f %% over %v, want the one before", again.Get(metric.CPUPercent), time.Duration(again.PeriodNS))
	}
}

// Children that come, work and go must be counted once: in the end the tree's time equals the
// kernel's time for the parent that waited for them.
func TestChildrenThatComeAndGoCountOnce(t *testing.T) {
	dir := t.TempDir()
	done := filepath.Join(dir, "done")
	pid := spawn(t, fmt.Sprintf(`n=0; while [ $n -lt 12 ]; do
		n=$((n+1)); sh -c 'i=0; while [ $i -lt 15000 ]; do i=$((i+1)); done; echo x >> %s/out' &
		sh -c 'sh -c "i=0; while [ \$i -lt 15000 ]; do i=\$((i+1)); done"; :'; wait; done; touch %s; while :; do sleep 10; done`, dir, done))
	s, err := NewSampler(Options{PIDs: pids(pid), Tree: true})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	var last results.Sample
	samples, most := 0, 0.0
	for ended := false; !ended; samples++ {
		_, err := os.Stat(done)
		ended = err == nil
		got := sample(t, s)
		if got.Get(metric.CPUSeconds) < last.Get(metric.CPUSeconds) || got.Get(metric.WriteBytes) < last.Get(metric.WriteBytes) || got.Get(metric.ReadBytes) < last.Get(metric.ReadBytes) || got.Get(metric.VoluntarySwitches) < last.Get(metric.VoluntarySwitches) {
			t.Fatalf("a counter fell:\n%+v\n%+v", last, got)
		}
		last, most = got, max(most, got.Get(metric.Processes))
	}
	data, err := s.machine.files.read(strconv.Itoa(pid), "stat")
	if err != nil {
		t.Fatalf("read the file of the process: %v", err)
	}
	kernel, err := metric.StatFields(data)
	if err != nil {
		t.Fatalf("parse the stat file: %v", err)
	}
	want := (kernel.Number(14) + kernel.Number(15) + kernel.Number(16) + kernel.Number(17)) / 100
	t.Logf("%.2f CPU seconds, the kernel has %.2f; %d samples of up to %g processes", last.Get(metric.CPUSeconds), want, samples, most)
	if want < 0.1 || most < 3 || math.Abs(last.Get(metric.CPUSeconds)-want) > 0.05 {
		t.Errorf("counted %.2f CPU seconds, the kernel %.2f (up to %g processes)", last.Get(metric.CPUSeconds), want, most)
	}
}

// A real process that is killed never has 0 bytes of memory in a sample, at whatever stage it ends.
func TestKilledProcessLeavesNoZeros(t *testing.T) {
	for range 20 {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatalf("start the command: %v", err)
		}
		s, err := NewSampler(Options{PIDs: pids(cmd.Process.Pid), Tree: true})
		if err != nil {
			t.Fatalf("start the sampler: %v", err)
		}
		sample(t, s)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("kill the process: %v", err)
		}
		for range 5 {
			if got := sample(t, s); got.Get(metric.RSSBytes) == 0 || got.Get(metric.VirtualBytes) == 0 || got.Get(metric.PeakRSSBytes) == 0 || got.Get(metric.Processes) == 0 && got.Get(metric.CPUPercent) != -1 {
				t.Fatalf("sample %+v", got)
			}
		}
		_ = cmd.Wait() // killed
		if got := sample(t, s); got.Get(metric.Processes) != 0 || got.Get(metric.RSSBytes) != -1 || got.Get(metric.FDs) != -1 || got.Get(metric.CPUPercent) != -1 {
			t.Fatalf("after it was reaped: %+v", got)
		}
	}
}

// kept is a writer that keeps samples, may fail and may be slow.
type kept struct {
	mu      sync.Mutex
	samples []results.Sample
	write   func(n int) error
}

func (k *kept) Write(s results.Sample) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.samples = append(k.samples, s)
	if k.write == nil {
		return nil
	}
	return k.write(len(k.samples))
}

// offsets returns the sample times since the first, in milliseconds.
func (k *kept) offsets() []int64 {
	var ms []int64
	for _, s := range k.samples {
		ms = append(ms, (s.UnixNano-k.samples[0].UnixNano)/1e6)
	}
	return ms
}

// runFor runs a sampler for a while on the bubble's clock, which starts on a full second.
func runFor(t *testing.T, k *kept, lead, length time.Duration) error {
	t.Helper()
	f := newFixture(t)
	f.put(fake{pid: 10, start: 1, own: 100})
	s := f.sampler(Options{PIDs: pids(10)})
	var err error
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(lead)
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		err = s.Run(ctx, k)
	})
	return err
}

func TestRunSamplesJustAfterEachSecond(t *testing.T) {
	k := &kept{}
	if err := runFor(t, k, 300*time.Millisecond, 3500*time.Millisecond); err != nil {
		t.Errorf("run the engine: %v", err)
	}
	if got, want := k.offsets(), []int64{0, 702, 1702, 2702, 3500}; !slices.Equal(got, want) {
		t.Errorf("samples at %v ms, want %v", got, want)
	}
	if got := k.samples[2]; got.UnixNano%1e9 != int64(pastSecond) || got.PeriodNS != int64(time.Second) {
		t.Errorf("taken %v after the second, %v after the one before", time.Duration(got.UnixNano%1e9), time.Duration(got.PeriodNS))
	}
}

// Anything that begins after Start was sampled before, however slowly the sample was written.
func TestStartWaitsForTheFirstSample(t *testing.T) {
	const slow = 200 * time.Millisecond
	f := newFixture(t)
	f.put(fake{pid: 10, start: 1, own: 100})
	s := f.sampler(Options{PIDs: pids(10)})
	full := errors.New("disk full")
	k := &kept{write: func(n int) error {
		if n == 1 {
			time.Sleep(slow)
		}
		return full
	}}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		before := time.Now()
		done := s.Start(ctx, k)
		if took := time.Since(before); took != slow {
			t.Errorf("Start returned after %v, want %v, when the first sample is written", took, slow)
		}
		if err := <-done; !errors.Is(err, full) {
			t.Errorf("sampling ended with %v, want %v", err, full)
		}
	})
	if got, want := k.offsets(), []int64{0, 1002, 2002, 2500}; !slices.Equal(got, want) {
		t.Errorf("samples at %v ms, want %v", got, want)
	}
}

func TestRunLeavesAGap(t *testing.T) {
	k := &kept{write: func(n int) error {
		if n == 2 {
			time.Sleep(2500 * time.Millisecond)
		}
		return nil
	}}
	if err := runFor(t, k, 0, 6500*time.Millisecond); err != nil {
		t.Errorf("run the engine: %v", err)
	}
	if got, want := k.offsets(), []int64{0, 1002, 4002, 5002, 6002, 6500}; !slices.Equal(got, want) {
		t.Errorf("samples at %v ms, want %v", got, want)
	}
}

func TestRunRemembersErrors(t *testing.T) {
	full := errors.New("disk full")
	k := &kept{write: func(n int) error {
		if n > 1 {
			return full
		}
		return nil
	}}
	err := runFor(t, k, 0, 15500*time.Millisecond)
	if !errors.Is(err, full) || len(k.samples) != 17 {
		t.Fatalf("%d samples, error %v", len(k.samples), err)
	}
	if n := strings.Count(err.Error(), full.Error()); n != keptErrors || !strings.Contains(err.Error(), "and 6 more errors") {
		t.Errorf("%d errors kept: %v", n, err)
	}
}

// BenchmarkSample reports the processor time per sample, and the share of a core that a second's
// samples take. With a short period nine out of ten samples read less.
func BenchmarkSample(b *testing.B) {
	pid := spawn(b, "sleep 1000 & sleep 1000 & wait")
	for name, o := range map[string]Options{
		"self/1s":    {PIDs: pids(os.Getpid())},
		"tree/1s":    {PIDs: pids(pid), Tree: true},
		"tree/100ms": {PIDs: pids(pid), Tree: true, Period: 100 * time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) {
			o.Dir = b.TempDir()
			s, err := NewSampler(o)
			if err != nil {
				b.Fatalf("start the sampler: %v", err)
			}
			b.ReportAllocs()
			var last results.Sample
			before := processorTime(b)
			for n := 0; b.Loop(); n++ {
				if n%10 == 0 {
					s.second = -1 // a new second begins
				}
				if n%50 == 0 && o.Period != 0 || n%5 == 0 && o.Period == 0 {
					for i := range s.machine.sources {
						s.machine.sources[i].read = time.Time{} // files that are read every 5 s are due
					}
				}
				if last, err = s.Sample(); err != nil {
					b.Fatalf("sample: %v", err)
				}
			}
			each := (processorTime(b) - before).Seconds() / float64(b.N)
			b.ReportMetric(1e6*each, "cpu-us/op")
			b.ReportMetric(100*each*float64(time.Second/s.options.Period), "%-of-a-core")
			b.ReportMetric(last.Get(metric.Threads), "threads")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatalf("ask for the use of this process: %v", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A machine without /proc is distinguished from one with a broken /proc.
func TestNewSamplerWithoutProc(t *testing.T) {
	t.Parallel()
	if _, err := NewSampler(Options{Root: t.TempDir()}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a sampler without /proc: %v, want %v", err, errors.ErrUnsupported)
	}
}
