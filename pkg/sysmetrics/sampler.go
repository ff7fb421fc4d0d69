// Package sysmetrics reads what Linux counts about a machine and about one tree
// of processes on it, from /proc. Each source has a file of its own, in which
// parsing is apart from reading.
package sysmetrics

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/results"
)

// Options say what a Sampler reads.
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
	// Device, as in /proc/diskstats, and Interface override what is found by Dir
	// and Addr.
	Device, Interface string
	// Addr is the address whose traffic is of interest: one of this machine's, or
	// one that this machine talks to. Empty means the default route's.
	Addr string
	// Clients returns the number of clients control last said; nil means none did.
	Clients func() int64
	// Root is where proc is mounted; empty means /proc.
	Root string
}

// Sampler reads samples of one process tree and its machine. It is safe for
// concurrent use; samples are taken one at a time.
type Sampler struct {
	options       Options
	device, iface string
	bootID, netNS string

	mu       sync.Mutex
	files    *files
	tree     *tree
	previous results.Sample
	taken    time.Time // when previous was, with its monotonic clock
}

// NewSampler finds the device and the interface, which stay the same for its
// life. A data directory on tmpfs or overlay has no device, which is no error;
// an override that /proc doesn't know is one.
func NewSampler(o Options) (*Sampler, error) {
	if o.Root == "" {
		o.Root = "/proc"
	}
	f := &files{root: o.Root}
	s := &Sampler{options: o, device: o.Device, iface: o.Interface, files: f, tree: newTree(f, o.Tree)}
	var err error
	if s.device == "" && o.Dir != "" {
		if _, s.device, err = f.filesystem(o.Dir); err != nil {
			return nil, err
		}
	}
	if s.iface == "" {
		if s.iface, err = f.findInterface(o.Addr); err != nil {
			return nil, err
		}
	}
	if s.device != "" {
		if _, err := f.device(s.device); err != nil {
			return nil, fmt.Errorf("sample the disk: %w", err)
		}
	}
	if _, err := f.netdev(s.iface); err != nil {
		return nil, fmt.Errorf("sample the network: %w", err)
	}
	if s.bootID, err = f.bootID(); err != nil {
		return nil, fmt.Errorf("tell this machine from others: %w", err)
	}
	if s.netNS, err = f.netNS(); err != nil {
		return nil, fmt.Errorf("tell this network from others: %w", err)
	}
	return s, nil
}

// Device is the block device that is sampled, as in /proc/diskstats; empty if
// the data directory has none.
func (s *Sampler) Device() string { return s.device }

// Interface is the network interface that is sampled.
func (s *Sampler) Interface() string { return s.iface }

// Sample reads once. Whatever could not be read is -1 in the sample and named in
// the error; the sample is good for the rest.
//
// CPUPercent is the growth of CPUSeconds over PeriodNS; a period too short for
// [results.CPUPercent] repeats the percentage before. It is -1 when no process
// runs: what the last ones used until they ended was not seen.
func (s *Sampler) Sample() (results.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	sample := results.Sample{
		UnixNano: now.UnixNano(), Device: s.device, Interface: s.iface,
		BootID: s.bootID, NetNS: s.netNS, Clients: -1,
	}
	if s.options.Clients != nil {
		sample.Clients = s.options.Clients()
	}
	err := errors.Join(
		s.readTree(&sample),
		s.readDevice(&sample),
		s.readInterface(&sample),
		s.readLoad(&sample),
	)
	if !s.taken.IsZero() {
		period := now.Sub(s.taken)
		sample.PeriodNS = period.Nanoseconds()
		sample.CPUPercent = s.previous.CPUPercent
		if percent, known := results.CPUPercent(s.previous.CPUSeconds, sample.CPUSeconds, period); known {
			sample.CPUPercent = percent
		}
	}
	if sample.Processes == 0 {
		sample.CPUPercent = -1
	}
	s.previous, s.taken = sample, now
	return sample, err
}

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
	sample.CPUSeconds = float64(u.cpuTicks) / ticksPerSecond
	sample.RSSBytes, sample.RSSAnonBytes = u.rss, u.anon
	sample.PeakRSSBytes, sample.VirtualBytes = u.peak, u.virtual
	sample.FDs, sample.Threads, sample.Processes = u.fds, u.threads, u.processes
	sample.VoluntarySwitches, sample.NonvoluntarySwitches = u.switches.voluntary, u.switches.nonvoluntary
	sample.ReadBytes, sample.WriteBytes = u.disk.read, u.disk.write
	if err != nil {
		return fmt.Errorf("sample the processes: %w", err)
	}
	return nil
}

func (s *Sampler) readDevice(sample *results.Sample) error {
	c := deviceCounters{reads: -1, sectorsRead: -1, millisRead: -1, writes: -1, sectorsWritten: -1, millisWrite: -1}
	var err error
	if s.device != "" {
		var read deviceCounters
		if read, err = s.files.device(s.device); err == nil {
			c = read
		} else {
			err = fmt.Errorf("sample the disk: %w", err)
		}
	}
	sample.ReadsCompleted, sample.SectorsRead, sample.MillisReading = c.reads, c.sectorsRead, c.millisRead
	sample.WritesCompleted, sample.SectorsWritten, sample.MillisWriting = c.writes, c.sectorsWritten, c.millisWrite
	return err
}

func (s *Sampler) readInterface(sample *results.Sample) error {
	c, err := s.files.netdev(s.iface)
	if err != nil {
		c = interfaceCounters{-1, -1, -1, -1}
		err = fmt.Errorf("sample the network: %w", err)
	}
	sample.ReceiveBytes, sample.ReceivePackets = c.rxBytes, c.rxPackets
	sample.TransmitBytes, sample.TransmitPackets = c.txBytes, c.txPackets
	return err
}

func (s *Sampler) readLoad(sample *results.Sample) error {
	load, err := s.files.loadavg()
	if err != nil {
		load = [3]float64{-1, -1, -1}
		err = fmt.Errorf("sample the load average: %w", err)
	}
	sample.Load1, sample.Load5, sample.Load15 = load[0], load[1], load[2]
	return err
}
