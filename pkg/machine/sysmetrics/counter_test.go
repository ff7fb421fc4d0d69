package sysmetrics

import (
	"testing"

	"github.com/coreos/dbtester/pkg/metric"
)

// counts are the counters in a sample that must never fall.
type counts struct {
	cpu, read, write int64
	switches         int64
}

// step changes a fixture; want is the sum for the tree after it.
type step struct {
	what string
	do   func(f *fixture)
	want counts
}

func runSteps(t *testing.T, o Options, steps []step) {
	t.Helper()
	f := newFixture(t)
	var s *Sampler
	for _, step := range steps {
		step.do(f)
		if s == nil {
			s = f.sampler(o)
		}
		got := sample(t, s)
		have := counts{
			cpu:  int64(got.Get(metric.CPUSeconds)*100 + 0.5), // ticks
			read: int64(got.Get(metric.ReadBytes)), write: int64(got.Get(metric.WriteBytes)), switches: int64(got.Get(metric.VoluntarySwitches)),
		}
		if have != step.want {
			t.Errorf("%s: %+v, want %+v", step.what, have, step.want)
		}
	}
}

func one(tid, voluntary int) map[int]switches { return map[int]switches{tid: {int64(voluntary), 0}} }

func TestWaitedChildCountsOnce(t *testing.T) {
	parent := fake{pid: 10, ppid: 1, start: 1, own: 100, read: 10, write: 10, threads: one(10, 5)}
	runSteps(t, Options{PIDs: pids(10), Tree: true}, []step{
		{"both run", func(f *fixture) {
			f.put(parent)
			f.put(fake{pid: 20, ppid: 10, start: 2, own: 50, waited: 7, read: 1, write: 2, threads: one(20, 3)})
		}, counts{157, 11, 12, 8}},
		{"the child ended, its parent has not been told", func(f *fixture) { f.end(20) }, counts{157, 11, 12, 8}},
		{"the parent waited; the child had gone on until then", func(f *fixture) {
			parent.waited, parent.read, parent.write = 60, 11, 15
			f.put(parent)
		}, counts{160, 11, 15, 8}},
		{"the parent goes on", func(f *fixture) {
			parent.own, parent.read, parent.write = 110, 21, 25
			f.put(parent)
		}, counts{170, 21, 25, 8}},
		{"children come and go unseen", func(f *fixture) {
			parent.waited = 70
			f.put(parent)
		}, counts{180, 21, 25, 8}},
	})
}

func TestChildThatIsNotWaitedForIsKept(t *testing.T) {
	parent := fake{pid: 10, ppid: 1, start: 1, own: 100}
	runSteps(t, Options{PIDs: pids(10), Tree: true}, []step{
		{"both run", func(f *fixture) {
			f.put(parent)
			f.put(fake{pid: 20, ppid: 10, start: 2, own: 50, read: 5, write: 6, threads: one(20, 3)})
		}, counts{150, 5, 6, 3}},
		{"the child ended and nobody took it in", func(f *fixture) { f.end(20) }, counts{150, 5, 6, 3}},
		{"and nobody ever does", func(f *fixture) {}, counts{150, 5, 6, 3}},
		{"its pid is given to another child", func(f *fixture) {
			f.put(fake{pid: 20, ppid: 10, start: 9, own: 1, read: 1, write: 1, threads: one(20, 1)})
		}, counts{151, 6, 7, 4}},
	})
}

func TestOrphansAndRoots(t *testing.T) {
	runSteps(t, Options{PIDs: pids(10), Tree: true}, []step{
		{"three generations", func(f *fixture) {
			f.put(fake{pid: 10, ppid: 1, start: 1, own: 100, threads: one(10, 1)})
			f.put(fake{pid: 20, ppid: 10, start: 2, own: 50, waited: 5, write: 3, threads: one(20, 1)})
			f.put(fake{pid: 30, ppid: 20, start: 3, own: 20, write: 4, threads: one(30, 1)})
		}, counts{175, 0, 7, 3}},
		{"the middle one ended, was waited for, and left an orphan", func(f *fixture) {
			f.end(20)
			f.put(fake{pid: 10, ppid: 1, start: 1, own: 100, waited: 55, write: 3, threads: one(10, 1)})
			f.put(fake{pid: 30, ppid: 1, start: 3, own: 21, write: 4, threads: one(30, 1)})
		}, counts{176, 0, 7, 3}},
		{"the root ended", func(f *fixture) { f.end(10) }, counts{176, 0, 7, 3}},
		{"the orphan goes on", func(f *fixture) {
			f.put(fake{pid: 30, ppid: 1, start: 3, own: 30, write: 5, threads: one(30, 2)})
		}, counts{185, 0, 8, 4}},
		{"all have ended", func(f *fixture) { f.end(30) }, counts{185, 0, 8, 4}},
	})
}

// A whole branch that ends between two samples is in the counters of the ancestor that waited for
// its top.
func TestBranchEndsAtOnce(t *testing.T) {
	runSteps(t, Options{PIDs: pids(10), Tree: true}, []step{
		{"three generations", func(f *fixture) {
			f.put(fake{pid: 10, ppid: 1, start: 1, own: 100})
			f.put(fake{pid: 20, ppid: 10, start: 2, own: 50, waited: 5, write: 3})
			f.put(fake{pid: 30, ppid: 20, start: 3, own: 20, write: 4})
		}, counts{175, 0, 7, 0}},
		{"only the first is left", func(f *fixture) {
			f.end(20)
			f.end(30)
			f.put(fake{pid: 10, ppid: 1, start: 1, own: 100, waited: 80, write: 8})
		}, counts{180, 0, 8, 0}},
	})
}

func TestWithoutDescendantsWaitedTimeIsNotCounted(t *testing.T) {
	runSteps(t, Options{PIDs: pids(10)}, []step{
		{"runs", func(f *fixture) { f.put(fake{pid: 10, ppid: 1, start: 1, own: 100}) }, counts{100, 0, 0, 0}},
		{"waited for a child", func(f *fixture) {
			f.put(fake{pid: 10, ppid: 1, start: 1, own: 101, waited: 5000})
		}, counts{101, 0, 0, 0}},
		{"ended", func(f *fixture) { f.end(10) }, counts{101, 0, 0, 0}},
	})
}

func TestSwitchesOfEndedThreadsAreKept(t *testing.T) {
	put := func(threads map[int]switches) func(*fixture) {
		return func(f *fixture) { f.put(fake{pid: 10, ppid: 1, start: 1, threads: threads}) }
	}
	runSteps(t, Options{PIDs: pids(10)}, []step{
		{"two threads", put(map[int]switches{10: {5, 0}, 11: {100, 0}}), counts{switches: 105}},
		{"one ended", put(map[int]switches{10: {6, 0}}), counts{switches: 106}},
		{"a new one has its number", put(map[int]switches{10: {6, 0}, 11: {1, 0}}), counts{switches: 107}},
		{"and again at once", put(map[int]switches{10: {6, 0}, 11: {0, 0}}), counts{switches: 107}},
	})
}
