package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
)

// sampleInterval is the most time of a process that its last sample can miss.
const sampleInterval = 500 * time.Millisecond

// ticks is the number of units per second in /proc/PID/stat, on every Linux.
const ticks = 100

// sampler reads the CPU time of the test processes that go test starts, each with all its
// descendants. (A wrapper by go test's -exec would know it exactly, but go test keeps no results
// for packages it runs so.) Without /proc it finds nothing.
type sampler struct {
	proc string // folder with the processes
	root int    // PID of go test

	mu   sync.Mutex
	of   map[string]string  // package by PID and start of a test process
	used map[string]float64 // seconds by package, the most in any sample
}

func newSampler(proc string, root int) *sampler {
	return &sampler{proc: proc, root: root, of: map[string]string{}, used: map[string]float64{}}
}

// run takes samples until stop is closed.
func (s *sampler) run(stop <-chan struct{}) {
	for tick := time.NewTicker(sampleInterval); ; {
		select {
		case <-stop:
			tick.Stop()
			return
		case <-tick.C:
			s.sample()
		}
	}
}

// cpu returns the seconds that a package took so far.
func (s *sampler) cpu(of string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[of]
}

// all returns the seconds that all packages took.
func (s *sampler) all() (sum float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seconds := range s.used {
		sum += seconds
	}
	return sum
}

// proc is a process.
type proc struct {
	pid, parent int
	started     int64   // in ticks since the boot
	seconds     float64 // its own, and those of children it waited for
}

func (s *sampler) sample() {
	entries, err := os.ReadDir(s.proc)
	if err != nil {
		return
	}
	children := map[int][]proc{}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue // not a process
		}
		if p, ok := readProc(filepath.Join(s.proc, entry.Name(), "stat")); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range children[s.root] {
		if of := s.packageOf(p); of != "" {
			s.used[of] = max(s.used[of], tree(p, children))
		}
	}
}

// tree sums a process and its descendants.
func tree(p proc, children map[int][]proc) float64 {
	sum := p.seconds
	for _, child := range children[p.pid] {
		sum += tree(child, children)
	}
	return sum
}

// packageOf returns the package a process tests, or "" for others, such as compilers.
func (s *sampler) packageOf(p proc) string {
	key := fmt.Sprint(p.pid, " ", p.started)
	if of, known := s.of[key]; known {
		return of
	}
	exe := filepath.Join(s.proc, strconv.Itoa(p.pid), "exe")
	if binary, err := os.Readlink(exe); err != nil || !strings.HasSuffix(binary, ".test") {
		return ""
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return "" // it has ended
	}
	s.of[key] = strings.TrimSuffix(info.Path, ".test")
	return s.of[key]
}

// readProc reads a /proc/PID/stat.
func readProc(name string) (proc, bool) {
	data, err := os.ReadFile(name)
	if err != nil {
		return proc{}, false
	}
	f, err := metric.StatFields(data)
	if err != nil {
		return proc{}, false
	}
	pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
	if err != nil {
		return proc{}, false
	}
	ticked := f.Int(14) + f.Int(15) + f.Int(16) + f.Int(17) // utime, stime, cutime, cstime
	return proc{pid: pid, parent: int(f.Int(4)), started: f.Int(22), seconds: float64(ticked) / ticks}, f.Err() == nil
}
