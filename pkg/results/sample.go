package results

import "time"

// Sample is one reading of a machine and of one process tree on it: one row of a
// system-metrics CSV. Counters are cumulative, as the kernel keeps them; rates
// are made from two neighbouring samples and their real interval, by whoever
// reads them. What could not be read is -1. So is what only processes that run
// have (memory, descriptors, threads, a share of the CPU) when none does:
// Processes is 0 then.
type Sample struct {
	UnixNano int64 // wall clock of the machine
	// PeriodNS is the monotonic time since the sample before; 0 for the first.
	PeriodNS int64

	Program, State string
	PID, PPID      int
	// CPUSeconds is the tree's user and system time since its processes started,
	// ended children included.
	CPUSeconds float64
	// CPUPercent is its growth over PeriodNS, see [CPUPercent]. 0 in the first row.
	CPUPercent                                         float64
	RSSBytes, RSSAnonBytes, PeakRSSBytes, VirtualBytes int64
	FDs, Threads, Processes                            int64
	VoluntarySwitches, NonvoluntarySwitches            int64 // context switches of all threads
	// ReadBytes and WriteBytes are the tree's own disk traffic (/proc/PID/io).
	ReadBytes, WriteBytes int64

	Load1, Load5, Load15 float64

	// Device is the block device below the data directory; the counters are the
	// whole device's.
	Device                                         string
	ReadsCompleted, SectorsRead, MillisReading     int64
	WritesCompleted, SectorsWritten, MillisWriting int64

	// Interface carries the hosts' traffic; the counters are the whole interface's.
	Interface                                                    string
	ReceiveBytes, ReceivePackets, TransmitBytes, TransmitPackets int64

	// Clients is what control last said, -1 if nothing.
	Clients int64

	// BootID and NetNS tell which machine and network namespace was read: samples
	// with the same ones and the same device or interface count one source.
	BootID, NetNS string

	// Interpolated says that [Interpolate] made the sample up between two others.
	Interpolated bool
	// Classic says that the sample was read from a file of the classic tool: its
	// context-switch counters hold thread counts, its bytes of memory count 1000
	// for each 1024, and whatever that file has no column for is -1 or "".
	Classic bool
}

// shortestPeriod is how far two samples must be apart for the kernel's CPU ticks
// of 10 ms to make a percentage.
const shortestPeriod = 100 * time.Millisecond

// CPUPercent is the growth of a [Sample]'s CPUSeconds over a period; 100 is one
// core. It is not known if either reading isn't (-1), if the counter fell, as it
// does when sampling began anew, or over less than 100 ms.
func CPUPercent(before, after float64, period time.Duration) (percent float64, known bool) {
	if before < 0 || after < before || period < shortestPeriod {
		return 0, false
	}
	return 100 * (after - before) / period.Seconds(), true
}

// KeepGauges fills in what s does not know of the moment (all that is neither a
// counter nor made of counters) with what an earlier sample knew. That is true of
// samples of one second, in which the earlier value was the last one seen. If no
// process runs any more, s is named after those that did.
func (s *Sample) KeepGauges(earlier *Sample) {
	for _, field := range wholeGauges() {
		if *field(s) < 0 {
			*field(s) = *field(earlier)
		}
	}
	if s.Clients < 0 {
		s.Clients = earlier.Clients
	}
	for _, field := range realGauges() {
		if *field(s) < 0 {
			*field(s) = *field(earlier)
		}
	}
	if s.Processes == 0 && earlier.Processes > 0 {
		s.Program, s.State, s.PID, s.PPID = earlier.Program, earlier.State, earlier.PID, earlier.PPID
		s.Processes = earlier.Processes
	}
}

// Join makes s stand for an earlier sample of the same second as well. The CPU
// percentage becomes that of the period since a sample of a second before; if
// that is not known, such as with a period of 0, it is the last one that was. What
// neither sample knows stays unknown.
func (s *Sample) Join(earlier, before *Sample, period time.Duration) {
	s.KeepGauges(earlier)
	if s.CPUPercent < 0 && earlier.CPUPercent < 0 {
		return // no process ran at either time: the counter says nothing
	}
	if percent, known := CPUPercent(before.CPUSeconds, s.CPUSeconds, period); known {
		s.CPUPercent = percent
	} else if s.CPUPercent < 0 {
		s.CPUPercent = earlier.CPUPercent
	}
}

// Second is the unix second the sample was taken in.
func (s *Sample) Second() int64 { return s.UnixNano / int64(time.Second) }

// SectorBytes is the unit of the kernel's sector counters, whatever the device
// (Documentation/admin-guide/iostats.rst).
const SectorBytes = 512
