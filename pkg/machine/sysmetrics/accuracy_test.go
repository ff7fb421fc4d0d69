package sysmetrics

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
)

// TestCPUTimeIsThatOfTheKernel burns ten seconds of processor time and compares the samples with
// the time that the kernel reports to the ended process's parent.
func TestCPUTimeIsThatOfTheKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds of processor time")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the process: %v", err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	s, err := NewSampler(Options{PIDs: pids(cmd.Process.Pid), Tree: true})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	for used := 0.0; used < 10; {
		now := sample(t, s)
		used = now.Get(metric.CPUSeconds)
		time.Sleep(100 * time.Millisecond)
	}
	// Once stopped, it uses no more, so the sample and its parent see the same time.
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatalf("stop the process: %v", err)
	}
	got, before := 0.0, -1.0
	for got != before {
		before = got
		time.Sleep(100 * time.Millisecond)
		last := sample(t, s)
		got = last.Get(metric.CPUSeconds)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("end the process: %v", err)
	}
	_ = cmd.Wait() // it was killed
	ended = true
	want := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	t.Logf("sampled %.2f s, the kernel has %.2f s", got, want)
	if got < 10 || math.Abs(got-want) > .02*want {
		t.Errorf("the processor time must be within 2 %% of the kernel's %.2f s, got %.2f s", want, got)
	}
}

// TestBytesWrittenAreThoseOfTheFile has a child write a file with a known size.
func TestBytesWrittenAreThoseOfTheFile(t *testing.T) {
	dir := t.TempDir()
	if fstype, device, err := Filesystem(dir); err != nil || device == "" {
		t.Skipf("%s lies on %s, which has no device (%v): nothing is counted there", dir, fstype, err)
	}
	const blocks, blockBytes = 500, 64 << 10
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		fmt.Sprintf("read go; dd if=/dev/zero of=%s bs=%d count=%d conv=fsync 2>/dev/null; echo done; read end", filepath.Join(dir, "file"), blockBytes, blocks))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("make a pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the process: %v", err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait() // its input has ended, and so does it
	}()
	s, err := NewSampler(Options{PIDs: pids(cmd.Process.Pid), Tree: true})
	if err != nil {
		t.Fatalf("start the sampler: %v", err)
	}
	before := sample(t, s)
	if _, err := fmt.Fprintln(in, "go"); err != nil {
		t.Fatalf("let the child write: %v", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("wait for the child: %v", err)
	}
	after := sample(t, s)
	got, want := after.Get(metric.WriteBytes)-before.Get(metric.WriteBytes), float64(blocks*blockBytes)
	t.Logf("sampled %.0f bytes, the file has %.0f", got, want)
	if math.Abs(got-want) > .02*want {
		t.Errorf("the bytes written must be within 2 %% of the file's %.0f, got %.0f", want, got)
	}
}

// TestMemoryOfTicks takes samples for an hour at ten per second, with processes that come and go,
// and retains nothing.
func TestMemoryOfTicks(t *testing.T) {
	ticks := 36_000
	if testing.Short() {
		ticks = 3_600
	}
	f := newFixture(t)
	f.put(fake{pid: 10, ppid: 1, start: 1, own: 100})
	s := f.sampler(Options{PIDs: pids(10), Tree: true, Device: "sda", Period: 100 * time.Millisecond})
	inUse := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run := func(ticks int) {
		for i := range ticks {
			if i%100 == 0 {
				f.end(20)
				f.put(fake{pid: 20, ppid: 10, start: 2 + i, own: i})
			}
			s.tree.whole = i%10 == 0
			if _, err := s.tree.sample([]int{10}); err != nil {
				t.Fatalf("sample the processes: %v", err)
			}
			problems := s.machine.sample(time.Unix(int64(i)/10, 0), 10, metric.System().Values())
			if err := errors.Join(problems...); err != nil {
				t.Fatalf("sample the machine: %v", err)
			}
		}
	}
	run(200) // buffers grow to their size
	before := inUse()
	run(ticks)
	if grown := inUse() - before; grown > 1<<20 {
		t.Errorf("%d ticks must keep less than 1 MiB, got %d bytes", ticks, grown)
	}
	if n := len(s.tree.procs); n != 2 {
		t.Errorf("the tree must know the 2 processes that run, got %d", n)
	}
}
