package cgroup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/process/resources"
)

// both limits processor time and memory.
var both = resources.Limits{CPUs: 0.25, Period: 100 * time.Millisecond, MemoryBytes: 2 << 30}

// wantFiles checks files of the fake.
func (f *fake) wantFiles(want map[string]string) {
	f.t.Helper()
	for file, text := range want {
		if got := f.get(file); got != text {
			f.t.Errorf("%s must be %q, got %q", file, text, got)
		}
	}
}

// A version 2 group is made below the innermost group that may pass its controllers on: a group
// with processes may not.
func TestUnified(t *testing.T) {
	f := newFake(t, "0::/system.slice/agent.service\n", mountUnified)
	f.group("unified", 1)
	f.put("unified/cgroup.subtree_control", "cpu memory")
	f.group("unified/system.slice")
	f.put("unified/system.slice/cgroup.subtree_control", "cpu memory")
	f.group("unified/system.slice/agent.service", os.Getpid(), 77)
	p, err := find(f, f.proc(), both)
	if err != nil {
		t.Fatalf("find a place for groups: %v", err)
	}
	const dir = "unified/system.slice/dbtester/r1/etcd-1"
	if got := p.Dirs("r1", "etcd-1"); !slices.Equal(got, []string{f.path(dir)}) {
		t.Errorf("the group must be at %s, got %v", dir, got)
	}
	if err := p.Check("r1", "etcd-1", both); err != nil || len(f.below()) > 0 {
		t.Errorf("a check must leave nothing behind, got %v and %v", err, f.below())
	}
	g, err := p.Make("r1", "etcd-1", both)
	if err != nil {
		t.Fatalf("make the group: %v", err)
	}
	f.wantFiles(map[string]string{dir + "/cpu.max": "25000 100000", dir + "/memory.max": "2147483648", dir + "/memory.swap.max": "0"})
	if _, err := p.Make("r1", "etcd-1", both); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a group that exists must be an error, got %v", err)
	}
	other, err := p.Make("r1", "etcd-2", both)
	if err != nil {
		t.Fatalf("make another group: %v", err)
	}

	f.put(dir+"/cpu.stat", "usage_usec 900\nnr_periods 40\nnr_throttled 12\nthrottled_usec 2500000\n")
	f.put(dir+"/memory.peak", "1500000000\n")
	f.put(dir+"/memory.events", "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n")
	want := resources.Use{Throttled: 12, ThrottledTime: 2500 * time.Millisecond, PeakBytes: 1500000000, OOMKills: 1}
	if got := g.Use(); got != want {
		t.Errorf("the use must be %+v, got %+v", want, got)
	}

	f.put(dir+"/cgroup.procs", "500\n501\n")
	if err := g.Remove(t.Context()); err != nil {
		t.Fatalf("remove the group: %v", err)
	}
	if !slices.Equal(f.killed, []int{500, 501}) {
		t.Errorf("the group's processes must be killed, got %v", f.killed)
	}
	if f.get("unified/system.slice/dbtester/r1/etcd-2/cpu.max") != "25000 100000" {
		t.Errorf("the other group must stay, got %v", f.below())
	}
	if err := errors.Join(other.Remove(t.Context()), g.Remove(t.Context())); err != nil || len(f.below()) > 0 {
		t.Errorf("nothing must be left, got %v and %v", err, f.below())
	}
}

// A process that is alone in its group moves one level down if no group above it serves.
func TestUnifiedAlone(t *testing.T) {
	f := newFake(t, "0::/user/agent\n", mountUnified)
	f.sealed = []string{"unified", "unified/user"}
	f.group("unified")
	f.put("unified/cgroup.subtree_control", "cpu memory")
	f.group("unified/user")
	f.put("unified/user/cgroup.subtree_control", "cpu memory")
	f.group("unified/user/agent", os.Getpid())
	p, err := find(f, f.proc(), both)
	if err != nil {
		t.Fatalf("find a place for groups: %v", err)
	}
	f.wantFiles(map[string]string{
		"unified/user/agent/cgroup.procs":                "",
		"unified/user/agent/dbtester-agent/cgroup.procs": strconv.Itoa(os.Getpid()),
		"unified/user/agent/cgroup.subtree_control":      "cpu memory",
	})
	g, err := p.Make("r1", "m", resources.Limits{CPUs: 2, Period: 10 * time.Millisecond})
	if err != nil {
		t.Fatalf("make the group: %v", err)
	}
	f.wantFiles(map[string]string{"unified/user/agent/dbtester/r1/m/cpu.max": "20000 10000"})
	if err := g.Remove(t.Context()); err != nil {
		t.Errorf("remove the group: %v", err)
	}
	// The next time it is there already.
	f.wantFiles(map[string]string{"proc/cgroup": "0::/user/agent/dbtester-agent"})
	if p, err = find(f, f.proc(), both); err != nil || p.trees[0].base != f.path("unified/user/agent") {
		t.Errorf("groups must be made beside the process's own, got %+v, %v", p, err)
	}
}

// If several agents share a process that is alone in its group, one moves the process down, and all
// find the place.
func TestUnifiedAloneAtOnce(t *testing.T) {
	f := newFake(t, "0::/agent\n", mountUnified)
	f.sealed = []string{"unified"}
	f.group("unified")
	f.put("unified/cgroup.subtree_control", "cpu memory")
	f.group("unified/agent", os.Getpid())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p, err := find(f, f.proc(), both)
			if err != nil || p.trees[0].base != f.path("unified/agent") {
				t.Errorf("groups must be made in the agents' own group, got %+v, %v", p, err)
			}
		})
	}
	wg.Wait()
}

// The group of a killed check does not hinder another check, which leaves nothing behind.
func TestCheckAfterAKill(t *testing.T) {
	f := newFake(t, "2:cpu:/\n", mountCPU)
	f.group("cpu")
	l := resources.Limits{CPUs: 1, Period: time.Second}
	p, err := find(f, f.proc(), l)
	if err != nil {
		t.Fatalf("find a place for groups: %v", err)
	}
	const left = "cpu/dbtester/r1/check-m"
	f.group(left)
	for range 2 {
		if err := p.Check("r1", "m", l); err != nil {
			t.Errorf("check: %v", err)
		}
	}
	if got := f.below(); len(got) != 3 || got[2] != left {
		t.Errorf("only %s must be left, got %v", left, got)
	}
}

// Version 1 has a group in each hierarchy. A thread moves there and back to start a child there.
func TestSeparate(t *testing.T) {
	f := newFake(t, "4:memory:/outer\n2:cpu:/\n0::/\n", mountCPU, mountMemory, mountUnified)
	f.group("unified", 1)
	f.group("cpu", 1)
	f.group("memory/outer", os.Getpid(), 7)
	p, err := find(f, f.proc(), both)
	if err != nil {
		t.Fatalf("find a place for groups: %v", err)
	}
	g, err := p.Make("r1", "etcd-1", both)
	if err != nil {
		t.Fatalf("make the group: %v", err)
	}
	const cpu, memory = "cpu/dbtester/r1/etcd-1", "memory/outer/dbtester/r1/etcd-1"
	f.wantFiles(map[string]string{
		cpu + "/cpu.cfs_quota_us": "25000", cpu + "/cpu.cfs_period_us": "100000",
		memory + "/memory.limit_in_bytes": "2147483648", memory + "/memory.swappiness": "0", memory + "/memory.memsw.limit_in_bytes": "absent",
	})
	var attr syscall.SysProcAttr
	leave, err := g.Place(&attr)
	if err != nil || attr.UseCgroupFD {
		t.Fatalf("enter the group: %v, %+v", err, attr)
	}
	f.wantFiles(map[string]string{cpu + "/tasks": "0", memory + "/tasks": "0", "cpu/tasks": "", "memory/outer/tasks": ""})
	if err := leave(); err != nil {
		t.Fatalf("leave the group: %v", err)
	}
	f.wantFiles(map[string]string{"cpu/tasks": "0", "memory/outer/tasks": "0"})

	f.put(cpu+"/cpu.stat", "nr_periods 40\nnr_throttled 12\nthrottled_time 2500000000\n")
	f.put(memory+"/memory.max_usage_in_bytes", "99\n")
	f.put(memory+"/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
	want := resources.Use{Throttled: 12, ThrottledTime: 2500 * time.Millisecond, PeakBytes: 99, OOMKills: 3}
	if got := g.Use(); got != want {
		t.Errorf("the use must be %+v, got %+v", want, got)
	}
	if err := g.Remove(t.Context()); err != nil || len(f.below()) > 0 {
		t.Errorf("nothing must be left, got %v and %v", err, f.below())
	}
}

// Limits that cannot be applied are refused with the reason, before anything is made.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		groups string
		mounts []string
		make   func(f *fake)
		want   []string
	}{
		"no right in version 1": {"2:cpu:/\n4:memory:/\n", []string{mountCPU, mountMemory}, func(f *fake) {
			f.group("cpu")
			f.group("memory")
			f.sealed = []string{"memory"}
		}, []string{"write to", "memory: permission denied", "run the agent as root"}},
		"no right in version 2": {"0::/a\n", []string{mountUnified}, func(f *fake) {
			f.group("unified")
			f.put("unified/cgroup.subtree_control", "cpu memory")
			f.group("unified/a", os.Getpid(), 5)
			f.sealed = []string{"unified"}
		}, []string{"unified: permission denied", "unified/a/cgroup.subtree_control: device or resource busy", "has other processes than this one", "Delegate=yes"}},
		"no memory controller": {"2:cpu:/\n", []string{mountCPU}, func(f *fake) { f.group("cpu") },
			[]string{`no control groups with the controller "memory"`}},
		"not passed down": {"0::/a\n", []string{mountUnified}, func(f *fake) {
			f.group("unified")
			f.put("unified/cgroup.controllers", "cpu")
			f.group("unified/a", os.Getpid(), 5)
		}, []string{`does not have the controller "memory"`}},
	} {
		f := newFake(t, test.groups, test.mounts...)
		test.make(f)
		_, err := find(f, f.proc(), both)
		if err == nil {
			t.Errorf("%s: groups must be refused", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the reason must contain %q, got %v", name, want, err)
			}
		}
		if left := f.below(); len(left) > 0 {
			t.Errorf("%s: nothing must be made, got %v", name, left)
		}
	}
}

// A group whose limit is refused is not left behind.
func TestLimitRefused(t *testing.T) {
	f := newFake(t, "2:cpu:/\n", mountCPU)
	f.group("cpu")
	p, err := find(f, f.proc(), resources.Limits{CPUs: 1, Period: time.Second})
	if err != nil {
		t.Fatalf("find a place for groups: %v", err)
	}
	p.kernel = &strict{fake: f}
	if err := p.Check("r1", "m", resources.Limits{CPUs: 1, Period: time.Second}); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "the groups above may have less") {
		t.Errorf("want the kernel's refusal, got %v", err)
	}
	if left := f.below(); len(left) > 0 {
		t.Errorf("nothing must be left, got %v", left)
	}
}

// strict refuses every quota.
type strict struct{ *fake }

func (s *strict) write(file, text string) error {
	if strings.HasSuffix(file, "cfs_quota_us") {
		return &fs.PathError{Op: "write", Path: file, Err: syscall.EINVAL}
	}
	return s.fake.write(file, text)
}

// A directory that is not one of dbtester's groups is never removed.
func TestRemoveStrangers(t *testing.T) {
	dir := t.TempDir()
	if err := Remove(context.Background(), []string{dir}); err == nil {
		t.Error("a directory outside of control groups must be refused")
	}
	if err := Remove(context.Background(), []string{"/sys/fs/cgroup"}); err == nil {
		t.Error("the root of control groups must be refused")
	}
	if err := Remove(context.Background(), []string{dir + "/gone"}); err != nil {
		t.Errorf("a directory that is gone is no error, got %v", err)
	}
}
