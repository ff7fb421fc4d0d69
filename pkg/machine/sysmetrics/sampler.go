// Package sysmetrics samples the metrics of a machine and of one tree of processes
// on it from Linux's /proc. Package metric declares and parses them; this package
// reads, follows processes and sums over them.
package sysmetrics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Options select the processes, device and interface of a Sampler.
type Options struct {
	// PIDs returns the processes to sample, the main one first, whenever a sample
	// is taken. Processes may come and go between samples; nil means none.
	PIDs func() []int
	// Tree samples the descendants of PIDs too, and counts the CPU time of ended
	// ones. Without it, CPU time is the processes' own. (Disk bytes of a child that
	// was waited for are its parent's in the kernel's books, with and without it.)
	Tree bool
	// Dir is the data directory, whose block device is sampled. It need not exist
	// yet. Empty means no device.
	Dir string
	// Device, as in /proc/diskstats, and Interface override those found by Dir
	// and Addr.
	Device, Interface string
	// Addr is the address whose traffic is of interest: one of this machine's, or
	// one that this machine talks to. Empty means the default route's.
	Addr string
	// Clients returns the number of clients that control applied last, or -1; nil
	// means that it is never known.
	Clients func() int64
	// Period is the time between two samples of Run, as [Period] allows it; 0 is a
	// second. Whatever it is, the files of threads and the lists of children are read
	// once in a second of the clock: other samples do not know what comes from threads.
	Period time.Duration
	// Group holds the directories of the control group whose metrics count, which need not
	// exist yet: what that group lacks is unknown. Without any it is the group of the main
	// process.
	Group []string
	// Root is where proc is mounted; empty means /proc.
	Root string
}

// Sampler reads samples of one process tree and its machine. It is safe for
// concurrent use; samples are taken one at a time.
type Sampler struct {
	options       Options
	bootID, netNS string

	mu       sync.Mutex
	machine  *machine
	tree     *tree
	previous results.Sample
	taken    time.Time // when previous was, with its monotonic clock
	second   int64     // in which the threads were read last
}

// NewSampler finds the device and the interface, which stay the same for its
// life. A data directory on tmpfs or overlay has no device, which is no error;
// an override that /proc doesn't know is one. The error wraps [errors.ErrUnsupported]
// where there is no /proc, as on other systems than Linux.
func NewSampler(o Options) (*Sampler, error) {
	if o.Root == "" {
		o.Root = "/proc"
	}
	if o.Period == 0 {
		o.Period = time.Second
	}
	if _, err := os.Stat(filepath.Join(o.Root, "self", "ns")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sample this machine: no %s: %w", o.Root, errors.ErrUnsupported)
	}
	f := &files{root: o.Root}
	device, iface := o.Device, o.Interface
	var err error
	if device == "" && o.Dir != "" {
		if _, device, err = f.filesystem(o.Dir); err != nil {
			return nil, err
		}
	}
	if iface == "" {
		if iface, err = f.findInterface(o.Addr); err != nil {
			return nil, err
		}
	}
	s := &Sampler{options: o, machine: newMachine(f, device, iface), tree: newTree(f, o.Tree)}
	s.machine.named = o.Group
	if err := s.machine.check(); err != nil {
		return nil, err
	}
	if s.bootID, err = f.bootID(); err != nil {
		return nil, fmt.Errorf("identify this machine: %w", err)
	}
	if s.netNS, err = f.netNS(); err != nil {
		return nil, fmt.Errorf("identify this network namespace: %w", err)
	}
	return s, nil
}

// Device is the block device that is sampled, as in /proc/diskstats; empty if
// the data directory has none.
func (s *Sampler) Device() string { return s.machine.device }

// Interface is the sampled one, by its name in /proc/net/dev.
func (s *Sampler) Interface() string { return s.machine.iface }

// Sample reads once. Whatever could not be read is unknown in the sample and named
// in the error; the sample is good for the rest.
//
// The CPU percentage is the growth of the CPU seconds over PeriodNS; a period too
// short for [results.CPUPercent] repeats the percentage before. It is unknown when
// no process runs, because the use of the last ones until they ended was not seen.
func (s *Sampler) Sample() (results.Sample, error) { return s.read(false) }

// read takes a sample, which reads everything if it is to be whole.
func (s *Sampler) read(whole bool) (results.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	sample := results.Sample{
		UnixNano: now.UnixNano(), Device: s.machine.device, Interface: s.machine.iface,
		BootID: s.bootID, NetNS: s.netNS, Values: metric.System().Values(),
	}
	if s.options.Clients != nil {
		sample.Values.Set(metric.Clients, float64(s.options.Clients()))
	}
	if s.options.Dir != "" {
		sample.Values.Set(metric.DiskFree, freeBytes(s.options.Dir))
	}
	// With a longer period each sample reads everything, also two of one second.
	s.tree.whole = whole || s.options.Period == time.Second || sample.Second() != s.second || s.taken.IsZero()
	s.second = sample.Second()
	problems := []error{s.readTree(&sample)}
	problems = append(problems, s.machine.sample(now, sample.PID, sample.Values)...)
	sample.Group = s.machine.group.name
	percent := 0.0 // of the first sample
	if !s.taken.IsZero() {
		period := now.Sub(s.taken)
		sample.PeriodNS = period.Nanoseconds()
		percent = s.previous.Get(metric.CPUPercent)
		if p, known := results.CPUPercent(s.previous.Get(metric.CPUSeconds), sample.Get(metric.CPUSeconds), period); known {
			percent = p
		}
	}
	if sample.Get(metric.Processes) == 0 {
		percent = metric.Unknown
	}
	sample.Values.Set(metric.CPUPercent, percent)
	s.previous, s.taken = sample, now
	return sample, errors.Join(problems...)
}

// freeBytes returns the space that is free on a directory's file system, unknown for one
// that does not exist yet.
func freeBytes(dir string) float64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return metric.Unknown
	}
	return float64(s.Bavail) * float64(s.Bsize)
}

// FreeBytes returns the space that is free on a directory's file system for processes
// without privileges, 0 if it is not known. That of a full one is 1.
func FreeBytes(dir string) int64 { return atLeastOne(freeBytes(dir)) }

// atLeastOne is a number of bytes whose 0 stands for unknown.
func atLeastOne(bytes float64) int64 {
	if bytes >= 0 { // not NaN
		return max(int64(bytes), 1)
	}
	return 0
}

// readTree sets the metrics of the processes.
func (s *Sampler) readTree(sample *results.Sample) error {
	var pids []int
	if s.options.PIDs != nil {
		pids = s.options.PIDs()
	}
	u, err := s.tree.sample(pids)
	if u.main != nil {
		sample.Program, sample.State = u.main.stat.name, u.main.status.state
		sample.PID, sample.PPID = u.main.id.pid, u.main.stat.ppid
	}
	for i, m := range s.tree.metrics {
		sample.Values.SetAt(m.index, u.values[i])
	}
	sample.Values.Set(metric.FDs, u.fds)
	sample.Values.Set(metric.Processes, u.processes)
	if err != nil {
		return fmt.Errorf("sample the processes: %w", err)
	}
	return nil
}
