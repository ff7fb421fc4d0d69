package sysmetrics

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/coreos/dbtester/pkg/metric"
)

// TestBusiestThread has threads in two processes run and wait in turn. Each second counts the one
// thread that ran and waited longest.
func TestBusiestThread(t *testing.T) {
	f := newFixture(t)
	schedstat := func(pid, tid int, ran, waited float64) {
		text := fmt.Sprintf("%d %d 1\n", int64(ran*1e9), int64(waited*1e9))
		f.write(text, strconv.Itoa(pid), "task", strconv.Itoa(tid), "schedstat")
		if pid == tid {
			f.write(text, strconv.Itoa(pid), "schedstat")
		}
	}
	f.put(fake{pid: 10, start: 5, threads: map[int]switches{10: {}, 11: {}}})
	f.put(fake{pid: 20, ppid: 10, start: 6})
	schedstat(10, 10, 5, 1)
	schedstat(10, 11, 100, 0)
	schedstat(20, 20, 3, 3)
	s := f.sampler(Options{PIDs: pids(10, 20)})
	for _, step := range []struct {
		what       string
		do         func()
		cpu, delay float64
	}{
		{"the first sample has nothing to compare with", func() {}, 0, 0},
		{"one waited more than another ran", func() {
			schedstat(10, 10, 5.2, 1.9)
			schedstat(10, 11, 100.5, 0)
			schedstat(20, 20, 3.1, 3)
		}, .2, .9},
		{"one of the other process", func() {
			schedstat(10, 11, 100.9, 0)
			schedstat(20, 20, 4, 3.1)
		}, 1.1, 1},
		{"a new one", func() {
			f.put(fake{pid: 10, start: 5, threads: map[int]switches{10: {}, 11: {}, 12: {}}})
			schedstat(10, 10, 5.2, 1.9)
			schedstat(10, 11, 100.9, 0)
			schedstat(10, 12, .7, 0)
		}, 1.8, 1},
		{"another one with its number", func() { schedstat(10, 12, .4, 0) }, 2.2, 1},
		{"a process ended", func() { f.end(20) }, 2.2, 1},
	} {
		step.do()
		got := sample(t, s)
		if cpu, delay := got.Get(metric.BusiestCPU), got.Get(metric.BusiestDelay); math.Abs(cpu-step.cpu)+math.Abs(delay-step.delay) > 1e-6 {
			t.Errorf("%s: the busiest threads must have run for %g s and waited for %g s, got %g and %g", step.what, step.cpu, step.delay, cpu, delay)
		}
	}
}
