package sysmetrics

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/metric"
)

// identity identifies a process until the next reboot. A pid may be reused, but not with the same
// start time.
type identity struct {
	pid   int
	start uint64 // ticks since boot
}

// proc is a process as last read.
type proc struct {
	id      identity
	stat    stat
	status  status
	values  []value        // in tree metric order
	threads []threadCounts // in thread source order
	fds     float64        // -1 if unknown
}

// stat holds the fields of /proc/PID/stat that the tree itself needs.
type stat struct {
	name  string
	ppid  int
	start uint64 // ticks since boot
}

// status holds the fields of /proc/PID/status that the tree itself needs.
type status struct {
	state  string // such as "S (sleeping)"
	memory bool   // false if the process has ended
}

func parseStat(data []byte) (stat, error) {
	f, err := metric.StatFields(data)
	if err != nil {
		return stat{}, err
	}
	return stat{name: f.Program, ppid: int(f.Int(4)), start: uint64(f.Int(22))}, f.Err()
}

func parseStatus(data []byte) (status, error) {
	var s status
	for key, value := range metric.Fields(data) {
		switch string(key) {
		case "State":
			s.state = string(value)
		case "VmSize":
			s.memory = string(value) != "0 kB"
		}
	}
	if s.state == "" {
		return s, errors.New("no state")
	}
	return s, nil
}

// ended reports whether the process has ended although it is still listed. Its counters still
// exist, but its memory and files do not. It is a zombie waiting to be reaped, or about to become
// one: the kernel releases memory first, which takes a while for gigabytes, and meanwhile the
// process seems to run.
func (p *proc) ended() bool {
	return strings.HasPrefix(p.status.state, "Z") || !p.status.memory
}

// proc reads a process and continues its counters from before, which may contain it. It also
// returns the threads. An error for which [gone] is true means that the process has ended. With any
// other error, proc returns the process as far as it is known, or nil.
func (t *tree) proc(pid int, before map[identity]*proc) (*proc, []int, error) {
	dir := strconv.Itoa(pid)
	data, err := t.files.read(dir, fileStat)
	if err != nil {
		return lastKnown(pid, before), nil, err
	}
	s, err := parseStat(data)
	if err != nil {
		return lastKnown(pid, before), nil, fmt.Errorf("stat of pid %d: %w", pid, err)
	}
	p := t.resume(identity{pid, s.start}, before)
	p.stat = s
	problem := p.take(t.processFiles[0], data)
	var tids []int
	if t.whole {
		if tids, err = t.files.numbers(dir, "task"); err != nil {
			return p, nil, err
		}
	}
	if data, err = t.files.read(dir, fileStatus); err != nil {
		return p, tids, err
	}
	// Use the text before anything else is read.
	if p.status, err = parseStatus(data); err != nil {
		return p, tids, fmt.Errorf("status of pid %d: %w", pid, err)
	}
	problem = firstOf(problem, p.take(t.processFiles[1], data))
	for _, file := range t.processFiles[2:] {
		err := t.otherFile(p, file)
		if gone(err) {
			return p, tids, err
		}
		problem = firstOf(problem, err)
	}
	t.readThreads(p, tids)
	err = t.openFiles(p)
	if gone(err) {
		return p, tids, err
	}
	return p, tids, firstOf(problem, err)
}

// firstOf returns the first non-nil error.
func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// resume returns the process as previously read, or a new one with unknown metrics.
func (t *tree) resume(id identity, before map[identity]*proc) *proc {
	p := &proc{id: id}
	if old := before[id]; old != nil {
		*p = *old
		p.values, p.threads = slices.Clone(old.values), slices.Clone(old.threads)
		return p
	}
	p.values = slices.Repeat([]value{{unknown: true}}, len(t.metrics))
	p.threads = make([]threadCounts, len(t.threadSources))
	return p
}

// lastKnown returns the previous state of a process that cannot be read now, or nil.
func lastKnown(pid int, before map[identity]*proc) *proc {
	for id, p := range before {
		if id.pid == pid {
			return p
		}
	}
	return nil
}

// otherFile reads a file that only metrics need. Other users' processes may deny access, and some
// kernels lack the file.
func (t *tree) otherFile(p *proc, file processFile) error {
	data, err := t.files.read(strconv.Itoa(p.id.pid), file.name)
	if errors.Is(err, fs.ErrPermission) && t.hasEnded(p) {
		return nil // a process without memory shows the file only to root; keep its last counts
	}
	if err != nil {
		p.miss(file)
		if errors.Is(err, fs.ErrNotExist) && unix.Access(t.files.path(strconv.Itoa(p.id.pid), fileStat), unix.F_OK) == nil {
			return nil
		}
		return err
	}
	return p.take(file, data)
}

// hasEnded reports whether the process has ended, even if only since its status was read.
func (t *tree) hasEnded(p *proc) bool {
	data, err := t.files.read(strconv.Itoa(p.id.pid), fileStatus)
	if err != nil {
		return gone(err)
	}
	if s, err := parseStatus(data); err == nil {
		p.status = s
	}
	return p.ended()
}

// readThreads reads counts for each thread. The files of the process itself contain the counts of
// the first thread. Without these, or between two readings, the sum is unknown and keeps its last
// value.
func (t *tree) readThreads(p *proc, tids []int) {
	for _, s := range t.threadSources {
		counted := &p.threads[s.thread]
		if !t.whole {
			p.miss(processFile{sources: []*processSource{s}})
		}
		if counted.first == nil {
			continue
		}
		counted.update(t.readCounts(s, p.id.pid, tids, counted.first), s)
		for i := range s.Metrics {
			v := &p.values[s.first+i]
			v.unknown, v.own = false, 0
			if s.Busiest == 0 || i < s.Busiest {
				v.own = counted.sum(i)
			}
			v.waited.update(0)
		}
	}
}

// readCounts returns the counts from one source by thread.
func (t *tree) readCounts(s *processSource, pid int, tids []int, first []float64) map[int][]float64 {
	now := make(map[int][]float64, len(tids))
	now[pid] = first
	for _, tid := range tids {
		if tid == pid {
			continue
		}
		data, err := t.files.read(strconv.Itoa(pid), "task", strconv.Itoa(tid), s.File)
		if err != nil {
			continue // the thread has just ended
		}
		if readings, err := s.parse(data); err == nil {
			if counts := threadCount(readings); counts != nil {
				now[tid] = counts
			}
		}
	}
	return now
}

// openFiles counts open file descriptors. Other users' processes do not show them.
func (t *tree) openFiles(p *proc) error {
	p.fds = 0
	if p.ended() {
		return nil
	}
	n, err := t.files.openFiles(p.id.pid)
	if p.fds = float64(n); err != nil {
		p.fds = metric.Unknown
	}
	return err
}
