package metric

import "fmt"

// CPUSeconds is always sampled from /proc/PID/stat.
const CPUSeconds Name = "cpu_seconds"

// ticksPerSecond is USER_HZ, the unit in which the kernel reports CPU times on every architecture
// Go supports, regardless of its timer's frequency.
const ticksPerSecond = 100

// cpuTime reads /proc/PID/stat.
func cpuTime() Source {
	return Source{
		File: "stat",
		Metrics: []Metric{{
			Name: CPUSeconds, Column: "CPU-SECONDS", Unit: "s", Kind: Counter, Scope: Process, Decimals: Exact,
			Help: "user and system time since the processes started, ended children included",
		}},
		Divisor: ticksPerSecond,
		Parse: func(data []byte, _ string, into []Reading) error {
			f, err := StatFields(data)
			if err != nil {
				return err
			}
			own, waited := f.Number(14)+f.Number(15), f.Number(16)+f.Number(17)
			if own < 0 || waited < 0 {
				return fmt.Errorf("times must be 0 or more, got %g and %g ticks", own, waited)
			}
			into[0] = Reading{Value: own, Waited: waited}
			return f.Err()
		},
	}
}
