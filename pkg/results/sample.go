package results

import (
	"time"

	"github.com/coreos/dbtester/pkg/metric"
)

// Sample is one reading from a machine and one process tree on it: one row of a system-metrics
// CSV. Counters are cumulative, as the kernel keeps them; readers make rates from two
// neighbouring samples and their real interval. Metrics that could not be read are
// [metric.Unknown]. Process gauges (memory, descriptors, threads) and the CPU percentage are also
// unknown when no process runs; the process count is 0 then.
type Sample struct {
	UnixNano int64 // by the machine's wall clock
	// PeriodNS is the monotonic time since the sample before; 0 for the first, -1 if
	// unknown.
	PeriodNS int64

	// Program and the next three describe the main process.
	Program, State string
	PID, PPID      int

	// Device is the block device below the data directory, and Interface the network interface
	// for traffic between hosts.
	Device, Interface string

	// BootID and NetNS identify the machine and the network namespace: samples with the same ones
	// and the same device or interface count one source.
	BootID, NetNS string
	// Group is the processes' control group directory, "" if no control group counts anything.
	Group string

	// Values has the metrics in [metric.System]. Copies of a sample share them; [Sample.Set]
	// separates the copy it changes.
	Values metric.Values

	// Interpolated reports that [Interpolate] made the sample from two others.
	Interpolated bool
	// Classic reports that the sample comes from a file of the classic tool: its context-switch
	// counters hold thread counts, its memory sizes count 1000 bytes for each 1024, and metrics
	// without a column there are unknown.
	Classic bool
}

// Get returns a metric value, or [metric.Unknown].
func (s *Sample) Get(n metric.Name) float64 { return s.Values.Get(n) }

// Set changes a metric value in s alone.
func (s *Sample) Set(n metric.Name, v float64) {
	s.Values = s.Values.Clone()
	s.Values.Set(n, v)
}

// shortestPeriod is the time needed between two samples for the 10 ms CPU ticks of the kernel to
// make a percentage. Samples every 100 ms are sometimes a little closer.
const shortestPeriod = 80 * time.Millisecond

// CPUPercent returns the growth of [metric.CPUSeconds] over a period; 100 is one core. It is
// unknown if either reading is, if the counter fell, as it does when sampling restarts, or over
// less than 80 ms.
func CPUPercent(before, after float64, period time.Duration) (percent float64, known bool) {
	if before < 0 || after < before || period < shortestPeriod {
		return 0, false
	}
	return 100 * (after - before) / period.Seconds(), true
}

// KeepGauges sets each gauge, setting and counter unknown in s to the value in an earlier sample.
// That is correct within one second, in which the earlier value was the last one seen: some
// counters are read once a second. If no process runs any more, s takes the name from those that
// did.
func (s *Sample) KeepGauges(earlier *Sample) {
	ended := s.Get(metric.Processes) == 0 && earlier.Get(metric.Processes) > 0
	list, own := s.Values.List(), false
	for i := range list.Len() {
		if s.Values.At(i) >= 0 || earlier.Values.At(i) < 0 || list.At(i).Kind == metric.Rate {
			continue
		}
		if !own { // copies of a sample share their values
			s.Values, own = s.Values.Clone(), true
		}
		s.Values.SetAt(i, earlier.Values.At(i))
	}
	if ended {
		if !own {
			s.Values = s.Values.Clone()
		}
		s.Program, s.State, s.PID, s.PPID = earlier.Program, earlier.State, earlier.PID, earlier.PPID
		s.Values.Set(metric.Processes, earlier.Get(metric.Processes))
	}
}

// Join merges an earlier sample from the same second into s. The CPU percentage then covers the
// period since before, a sample from an earlier second; if that is unknown, such as when period
// is 0, it is the last known one. Metrics unknown in both samples stay unknown.
func (s *Sample) Join(earlier, before *Sample, period time.Duration) {
	s.KeepGauges(earlier)
	if s.Get(metric.CPUPercent) < 0 && earlier.Get(metric.CPUPercent) < 0 {
		return // no process ran at either time, so the counter cannot have grown
	}
	if percent, known := CPUPercent(before.Get(metric.CPUSeconds), s.Get(metric.CPUSeconds), period); known {
		s.Values.Set(metric.CPUPercent, percent)
	} else if s.Get(metric.CPUPercent) < 0 {
		s.Values.Set(metric.CPUPercent, earlier.Get(metric.CPUPercent))
	}
}

// Second returns the unix second within which the sample was taken.
func (s *Sample) Second() int64 { return s.UnixNano / int64(time.Second) }
