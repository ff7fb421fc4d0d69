package metric

import (
	"bytes"
	"fmt"
)

// Metrics from /proc/PID/task/TID/schedstat.
const (
	// RunDelay is the time that threads waited for a processor.
	RunDelay Name = "run_delay_seconds"
	// BusiestCPU and BusiestDelay are those of the busiest thread.
	BusiestCPU   Name = "busiest_thread_cpu_seconds"
	BusiestDelay Name = "busiest_thread_delay_seconds"
)

// runDelay reads the schedstat file for each thread: time on a processor, time waiting for a
// processor, and number of time slices. All are 0 on a kernel without scheduler statistics.
func runDelay() Source {
	return Source{
		File: "schedstat", Threads: true, Divisor: 1e9, Busiest: 1,
		Metrics: []Metric{
			{Name: RunDelay, Column: "RUN-DELAY-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact, Report: true,
				Help: "time that the threads could run and waited for a processor, summed over all of them; that of threads that ended between two samples is missing"},
			{Name: BusiestCPU, Column: "BUSIEST-THREAD-CPU-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact, Report: true, Optional: true,
				Help: "time that the busiest thread ran on a processor: in each second the one that ran or waited for a processor longest, so that it may be another one in the next; 1 s in each second is a thread that never rests"},
			{Name: BusiestDelay, Column: "BUSIEST-THREAD-DELAY-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact, Report: true, Optional: true,
				Help: "time that this busiest thread could run and waited for a processor"},
		},
		Parse: parseSchedstat,
	}
}

func parseSchedstat(data []byte, _ string, into []Reading) error {
	fields := bytes.Fields(data)
	if len(fields) < 3 {
		return fmt.Errorf("schedstat must have 3 numbers, got %q", data)
	}
	ran, err := parseCount(fields[0])
	if err != nil {
		return fmt.Errorf("time on a processor in schedstat: %w", err)
	}
	waited, err := parseCount(fields[1])
	if err != nil {
		return fmt.Errorf("run delay in schedstat: %w", err)
	}
	into[0].Value, into[1].Value, into[2].Value = waited, ran, waited
	return nil
}
