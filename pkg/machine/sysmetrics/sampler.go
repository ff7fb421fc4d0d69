// Package sysmetrics samples metrics about a machine and one process tree on it from /proc on
// Linux. Package metric declares and parses them; this package reads files, follows processes and
// sums over them.
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

	"github.com/coreos/dbtester/pkg/machine/streams"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Options select the processes, device and interface for a Sampler.
type Options struct {
	// PIDs returns the processes to sample, main process first, and is called for each sample.
	// Processes may come and go between samples; it may be nil.
	PIDs func() []int
	// Tree also samples the descendants of PIDs, and counts the CPU time of ended ones. Without it,
	// CPU time covers only the given processes. (In either case, the kernel adds the disk bytes of
	// a waited-for child to its parent.)
	Tree bool
	// Dir is the data directory, whose block device is sampled. It need not exist yet. Empty means
	// no device.
	Dir string
	// Device, as in /proc/diskstats, and Interface override those derived from Dir and Addr.
	Device, Interface string
	// Addr is the address whose traffic matters, of this machine or a peer. Empty means the default
	// route.
	Addr string
	// Clients returns the number of clients that control last applied, or -1. If it is nil, the
	// number is always unknown.
	Clients func() int64
	// Period is the interval between two samples in Run, as allowed by [Period]; 0 means one
	// second. Regardless of it, thread files and child lists are read once per clock second. In the
	// other samples, the metrics from threads are unknown.
	Period time.Duration
	// Group holds the directories for the control group to sample, which need not exist yet.
	// Metrics that this group lacks are unknown. If Group is empty, the group of the main process
	// is sampled.
	Group []string
	// Streams is the address, HOST:PORT, at which the processes send streams to other members, with
	// Members in all. If it is empty, or the kernel does not time them, round trips are unknown.
	Streams string
	Members int
	// Root is the proc mount; empty means /proc.
	Root string
}

// ThisProcess is an [Options.PIDs] that samples the calling process.
func ThisProcess() []int { return []int{os.Getpid()} }

// Sampler samples one process tree and its machine. It is safe for concurrent use; samples are
// taken one at a time.
type Sampler struct {
	options       Options
	bootID, netNS string

	mu       sync.Mutex
	machine  *machine
	tree     *tree
	previous results.Sample
	taken    time.Time      // when previous was taken, with its monotonic clock
	second   int64          // the second in which the threads were last read
	streams  *streams.Trips // may be nil
}

// NewSampler finds the device and the interface, which then never change. It is not an error if the
// data directory has no device, as on tmpfs or overlay, but an override unknown to /proc is. The
// error wraps [errors.ErrUnsupported] on systems without /proc, such as systems other than Linux.
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
	if o.Streams != "" && o.Members > 1 {
		if s.streams, err = streams.New(o.Streams, o.Members); err != nil {
			return nil, err
		}
		if _, _, err := s.streams.Count(); err != nil {
			s.streams = nil // as a file that this kernel does not have
		}
	}
	if s.bootID, err = f.bootID(); err != nil {
		return nil, fmt.Errorf("identify this machine: %w", err)
	}
	if s.netNS, err = f.netNS(); err != nil {
		return nil, fmt.Errorf("identify this network namespace: %w", err)
	}
	return s, nil
}

// Device returns the sampled block device name, as in /proc/diskstats; empty if the data directory
// has no device.
func (s *Sampler) Device() string { return s.machine.device }

// Interface returns the sampled interface name, as in /proc/net/dev.
func (s *Sampler) Interface() string { return s.machine.iface }

// Sample takes a sample. Values that could not be read are unknown in the sample and named in the
// error; the rest is valid.
//
// The CPU percentage is the growth of CPU seconds over PeriodNS. If the period is too short for
// [results.CPUPercent], the previous percentage is repeated. It is unknown if no process runs,
// because usage by the last processes before they ended was not seen.
func (s *Sampler) Sample() (results.Sample, error) { return s.read(false) }

// read takes a sample; whole means that it reads everything.
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
	// With longer periods every sample reads everything, even two in the same second.
	s.tree.whole = whole || s.options.Period == time.Second || sample.Second() != s.second || s.taken.IsZero()
	s.second = sample.Second()
	problems := []error{s.readTree(&sample)}
	problems = append(problems, s.machine.sample(now, sample.PID, sample.Values)...)
	problems = append(problems, s.readStreams(sample.Values))
	sample.Group = s.machine.group.name
	percent := 0.0 // for the first sample
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

// readStreams sets the round trips to other members. Between two readings, and where one fails,
// they stay as last read.
func (s *Sampler) readStreams(values metric.Values) (err error) {
	if s.streams == nil {
		return nil
	}
	n, seconds := s.streams.Counted()
	if s.tree.whole {
		n, seconds, err = s.streams.Count()
	}
	values.Set(metric.StreamTrips, n)
	values.Set(metric.StreamTripSeconds, seconds)
	return err
}

// freeBytes returns the free space on the file system of a directory; unknown if the directory does
// not exist yet.
func freeBytes(dir string) float64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return metric.Unknown
	}
	return float64(s.Bavail) * float64(s.Bsize)
}

// FreeBytes returns the space on the file system of a directory that is free for unprivileged
// processes; 0 if unknown. For a full one it returns 1.
func FreeBytes(dir string) int64 { return atLeastOne(freeBytes(dir)) }

// atLeastOne raises a known size to at least 1 byte, because 0 means unknown.
func atLeastOne(bytes float64) int64 {
	if bytes >= 0 { // not NaN
		return max(int64(bytes), 1)
	}
	return 0
}

// readTree sets the process metrics.
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
