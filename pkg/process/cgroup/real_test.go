package cgroup

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/resources"
)

// patience is how long the tests wait for events that take a fraction of a second on an idle
// machine.
const patience = 2 * time.Minute

// parent returns a place for real groups, or skips the test where this process cannot make any.
func parent(t *testing.T, l resources.Limits) *Parent {
	t.Helper()
	p, err := Find(l)
	if err == nil {
		err = p.Check("test-"+t.Name(), "real", l)
	}
	if err != nil {
		t.Skipf("needs the right to make control groups: %v", err)
	}
	return p
}

// realGroup makes a group that is removed with the test.
func realGroup(t *testing.T, l resources.Limits) *Group {
	t.Helper()
	g, err := parent(t, l).Make("test-"+t.Name(), "real", l)
	if err != nil {
		t.Fatalf("make the group: %v", err)
	}
	removeAfter(t, g)
	return g
}

// removeAfter removes a group when the test ends, if it is still there.
func removeAfter(t *testing.T, g *Group) {
	t.Helper()
	t.Cleanup(func() {
		if err := g.Remove(context.Background()); err != nil { // it has its own bound
			t.Errorf("remove the group: %v", err)
		}
		for _, p := range g.parts {
			if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
				t.Errorf("%s must be gone, got %v", p.dir, err)
			}
		}
	})
}

// shell starts a script in a group, or nil, and returns its log.
func shell(t *testing.T, g *Group, script string) (h *process.Handle, log string) {
	t.Helper()
	c := process.Command{Name: "sh", Path: "sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
	if g != nil {
		c.Place = g.Place
	}
	h, err := process.Start(c)
	if err != nil {
		t.Fatalf("start the script: %v", err)
	}
	t.Cleanup(func() { h.Stop(context.Background(), process.Deadlines{Kill: patience}) })
	return h, c.Log
}

// ended waits until a script ends and returns its output.
func ended(t *testing.T, h *process.Handle, log string) string {
	t.Helper()
	<-h.Done()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatalf("read the log: %v", err)
	}
	return string(text)
}

// Children are in the group before their first instruction, and no other child or thread is, even
// while many start at once.
func TestPlace(t *testing.T) {
	g := realGroup(t, resources.Limits{CPUs: 0.5, Period: 10 * time.Millisecond, MemoryBytes: 64 << 20})
	mine := "/" + top + "/test-" + t.Name() + "/real"
	var wg sync.WaitGroup
	for range 10 {
		for _, in := range []*Group{g, nil} {
			wg.Go(func() {
				c := process.Command{Name: "cat", Path: "cat", Args: []string{"/proc/self/cgroup"}, Log: filepath.Join(t.TempDir(), "log")}
				if in != nil {
					c.Place = in.Place
				}
				h, err := process.Start(c)
				if err != nil {
					t.Errorf("start a child: %v", err)
					return
				}
				want := 0
				if in != nil {
					want = len(g.parts)
				}
				if text := ended(t, h, c.Log); strings.Count(text, mine) != want {
					t.Errorf("the child must be in %d directories of the group, got\n%s", want, text)
				}
			})
		}
	}
	wg.Wait()
	threads, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil || len(threads) == 0 {
		t.Fatalf("list the threads: %v", err)
	}
	for _, thread := range threads {
		if text, _ := os.ReadFile(thread); strings.Contains(string(text), mine) {
			t.Errorf("a thread of the agent is in the group:\n%s", text)
		}
	}
}

// A busy child is throttled, and is killed when its group is removed.
func TestThrottled(t *testing.T) {
	l := resources.Limits{CPUs: 0.25, Period: 20 * time.Millisecond}
	g := realGroup(t, l)
	h, _ := shell(t, g, "while :; do :; done")
	deadline := time.Now().Add(patience)
	for use := g.Use(); use.Throttled < 3 || use.ThrottledTime <= 0; use = g.Use() {
		if time.Now().After(deadline) {
			t.Fatalf("a child that never rests must be throttled, got %+v", use)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := g.Remove(t.Context()); err != nil {
		t.Errorf("remove the group: %v", err)
	}
	<-h.Done()
	if exit, _ := h.Exit(); exit.Signal != "SIGKILL" {
		t.Errorf("the child must be killed, got %v", exit)
	}
	if err := Remove(t.Context(), g.dirsMade()); err != nil {
		t.Errorf("a group that is gone must be no error, got %v", err)
	}
}

// dirsMade returns the directories of g.
func (g *Group) dirsMade() (dirs []string) {
	for _, p := range g.parts {
		dirs = append(dirs, p.dir)
	}
	return dirs
}

// A child that takes more than its memory is killed, and the group counts that.
func TestMemoryLimit(t *testing.T) {
	g := realGroup(t, resources.Limits{MemoryBytes: 32 << 20})
	h, log := shell(t, g, "head -c 200000000 /dev/zero | tail -c 100000000 >/dev/null; echo over")
	text := ended(t, h, log)
	use := g.Use()
	if use.OOMKills < 1 {
		t.Errorf("100 MB in a group of 32 MiB must be killed, got %+v and %q", use, text)
	}
	if use.PeakBytes != resources.Unknown && (use.PeakBytes < 16<<20 || use.PeakBytes > 40<<20) {
		t.Errorf("the peak must be near the limit, got %d bytes", use.PeakBytes)
	}
}

// The group of an earlier process is removed by its directories, with all that still runs in it.
func TestRemoveLeftover(t *testing.T) {
	l := resources.Limits{CPUs: 1, Period: resources.DefaultPeriod}
	g := realGroup(t, l)
	// It leaves its process group, so no signal to that group ends it.
	h, _ := shell(t, g, "setsid sleep 600 & wait")
	if err := Remove(t.Context(), g.dirsMade()); err != nil {
		t.Fatalf("remove the group: %v", err)
	}
	<-h.Done()
	for _, dir := range g.dirsMade() {
		for _, gone := range []string{dir, filepath.Dir(dir)} {
			if _, err := os.Stat(gone); !os.IsNotExist(err) {
				t.Errorf("%s must be gone, got %v", gone, err)
			}
		}
	}
}

// Version 2 takes a child in when it is cloned. Machines with its controllers in version 1 often
// have its hierarchy too.
func TestPlaceUnified(t *testing.T) {
	var point string
	for _, candidate := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var s unix.Statfs_t
		if unix.Statfs(candidate, &s) == nil && s.Type == unix.CGROUP2_SUPER_MAGIC && (linux{}).writable(candidate) == nil {
			point = candidate
		}
	}
	if point == "" {
		t.Skip("needs the right to make control groups of version 2")
	}
	p := &Parent{kernel: linux{}, trees: []tree{{unified: true, home: point, base: point}}}
	g, err := p.Make("test-"+t.Name(), "real", resources.Limits{})
	if err != nil {
		t.Skipf("needs the right to make control groups of version 2: %v", err)
	}
	removeAfter(t, g)
	h, log := shell(t, g, "cat /proc/self/cgroup")
	if text := ended(t, h, log); !strings.Contains(text, "0::/"+top+"/test-"+t.Name()+"/real\n") {
		t.Errorf("the child must be in the group, got\n%s", text)
	}
	if err := g.Remove(t.Context()); err != nil {
		t.Errorf("remove the group: %v", err)
	}
}
