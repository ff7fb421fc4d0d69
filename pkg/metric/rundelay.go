package metric

import (
	"bytes"
	"fmt"
)

// RunDelay is the time that threads waited for a processor.
const RunDelay Name = "run_delay_seconds"

// runDelay reads each thread's schedstat file: time on a processor, time waiting for a processor,
// and number of time slices. All are 0 on a kernel without scheduler statistics.
func runDelay() Source {
	return Source{
		File: "schedstat", Threads: true, Divisor: 1e9,
		Metrics: []Metric{{
			Name: RunDelay, Column: "RUN-DELAY-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact, Report: true,
			Help: "time that the threads could run and waited for a processor, summed over all of them; that of threads that ended between two samples is missing",
		}},
		Parse: func(data []byte, _ string, into []Reading) (err error) {
			fields := bytes.Fields(data)
			if len(fields) < 3 {
				return fmt.Errorf("schedstat must have 3 numbers, got %q", data)
			}
			if into[0].Value, err = parseCount(fields[1]); err != nil {
				return fmt.Errorf("run delay in schedstat: %w", err)
			}
			return nil
		},
	}
}
