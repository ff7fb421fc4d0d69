package metric

import (
	"bytes"
	"fmt"
)

// Metrics in /proc/pressure: how long tasks waited for a resource.
const (
	CPUPressureSome    Name = "cpu_pressure_some_seconds"
	CPUPressureFull    Name = "cpu_pressure_full_seconds"
	MemoryPressureSome Name = "memory_pressure_some_seconds"
	MemoryPressureFull Name = "memory_pressure_full_seconds"
	IOPressureSome     Name = "io_pressure_some_seconds"
	IOPressureFull     Name = "io_pressure_full_seconds"
)

func cpuPressure() Source {
	return pressure("cpu", "a processor", CPUPressureSome, CPUPressureFull)
}

func memoryPressure() Source {
	return pressure("memory", "memory", MemoryPressureSome, MemoryPressureFull)
}

func ioPressure() Source {
	return pressure("io", "a device", IOPressureSome, IOPressureFull)
}

// pressure reads one file in /proc/pressure. Kernels before 4.20, and kernels built or started
// without pressure stall information, do not have it.
func pressure(file, resource string, some, full Name) Source {
	upper := string(bytes.ToUpper([]byte(file)))
	return Source{
		File: "pressure/" + file, Divisor: 1e6,
		Metrics: []Metric{
			{Name: some, Column: upper + "-PRESSURE-SOME-SECONDS", Unit: "s", Kind: Counter, Scope: Host, Decimals: Exact, Report: true, Optional: true,
				Help: "time in which at least one task of the machine waited for " + resource},
			{Name: full, Column: upper + "-PRESSURE-FULL-SECONDS", Unit: "s", Kind: Counter, Scope: Host, Decimals: Exact, Report: true, Optional: true,
				Help: "time in which all tasks of the machine that had work waited for " + resource},
		},
		Parse: parsePressure,
	}
}

// parsePressure reads the totals in microseconds. Kernels before 5.13 have no "full" line for
// processors.
func parsePressure(data []byte, _ string, into []Reading) error {
	for line := range bytes.Lines(data) {
		kind, rest, _ := bytes.Cut(line, []byte{' '})
		at := 0
		switch string(kind) {
		case "some":
		case "full":
			at = 1
		default:
			continue
		}
		_, total, found := bytes.Cut(rest, []byte("total="))
		if !found {
			return fmt.Errorf("a line of pressure must have a total, got %q", line)
		}
		n, err := parseCount(bytes.TrimSpace(total))
		if err != nil {
			return fmt.Errorf("total of pressure: %w", err)
		}
		into[at].Value = n
	}
	if into[0].Value < 0 {
		return fmt.Errorf("pressure must have a line of some, got %q", data)
	}
	return nil
}
