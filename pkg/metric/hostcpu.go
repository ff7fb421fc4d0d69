package metric

import (
	"bytes"
	"errors"
	"fmt"
)

// HostCPUSeconds is the CPU time used by all processes on the machine.
const HostCPUSeconds Name = "host_cpu_seconds"

// hostCPU reads the first line of /proc/stat: processor time since boot by activity.
func hostCPU() Source {
	return Source{
		File: "stat",
		Metrics: []Metric{{
			Name: HostCPUSeconds, Column: "HOST-CPU-SECONDS", Unit: "s", Kind: Counter, Scope: Host, Decimals: Exact,
			Help: "time since boot in which the machine's processors ran any process or the kernel, or another machine on the same hardware (steal); interrupts are left out",
		}},
		Divisor: ticksPerSecond,
		Parse:   parseHostCPU,
	}
}

// parseHostCPU adds user, nice, system and steal. Idle and iowait, the fourth and fifth number, are
// not usage, and guest time is included in user and nice. Interrupts are left out, because they
// serve whichever process waits for a device, and kernels differ in whether they charge them to a
// process.
func parseHostCPU(data []byte, _ string, into []Reading) error {
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return errors.New("stat must begin with a line of the times of all processors")
	}
	sum := 0.0
	for _, field := range []int{1, 2, 3, 8} {
		n, err := parseCount(fields[field])
		if err != nil {
			return fmt.Errorf("times of all processors in stat: field %d: %w", field+1, err)
		}
		sum += n
	}
	into[0].Value = sum
	return nil
}
