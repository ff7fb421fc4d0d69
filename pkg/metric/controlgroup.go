package metric

import (
	"bytes"
	"errors"
	"fmt"
)

// Metrics for the control group of the processes.
const (
	GroupThrottledSeconds Name = "group_throttled_seconds"
	GroupThrottledPeriods Name = "group_throttled_periods"
	GroupMemoryBytes      Name = "group_memory_bytes"
	GroupMemoryLimitHits  Name = "group_memory_limit_hits"
	GroupAnonBytes        Name = "group_anon_bytes"
	GroupCacheBytes       Name = "group_page_cache_bytes"
	GroupMemoryPressure   Name = "group_memory_pressure_seconds"

	GroupMemoryPressureFull Name = "group_memory_pressure_full_seconds"
	GroupCPUPressureSome    Name = "group_cpu_pressure_some_seconds"
	GroupCPUPressureFull    Name = "group_cpu_pressure_full_seconds"
	GroupIOPressureSome     Name = "group_io_pressure_some_seconds"
	GroupIOPressureFull     Name = "group_io_pressure_full_seconds"
)

// groupCPU reads cpu.stat in the group, in either version. Each ancestor group may have its own
// limit and throttle independently.
func groupCPU() Source {
	return Source{
		File: "cpu.stat", OldFile: "cpu.stat", Controller: "cpu", Above: true,
		Metrics: []Metric{
			{Name: GroupThrottledSeconds, Column: "CGROUP-THROTTLED-SECONDS", Unit: "s", Kind: Counter, Scope: Group, Decimals: Exact, Report: true, Optional: true,
				Help: "time that the control group and those above it were stopped because they had used their CPU quota; for a member with limits, its own group alone"},
			{Name: GroupThrottledPeriods, Column: "CGROUP-THROTTLED-PERIODS", Unit: "periods", Kind: Counter, Scope: Group, Report: true, Optional: true,
				Help: "periods of the CPU quota in which the control group or one above it was stopped; for a member with limits, its own group alone"},
		},
		Parse: parseThrottling,
	}
}

// parseThrottling reads microseconds (version 2) or nanoseconds (version 1). A group without the
// controller has neither.
func parseThrottling(data []byte, _ string, into []Reading) error {
	for key, value := range words(data) {
		var err error
		unit := 1.0
		at := 0
		switch string(key) {
		case "throttled_usec":
			unit = 1e6
		case "throttled_time":
			unit = 1e9
		case "nr_throttled":
			at = 1
		default:
			continue
		}
		if into[at].Value, err = parseCount(value); err != nil {
			return fmt.Errorf("%s in cpu.stat: %w", key, err)
		}
		into[at].Value /= unit
	}
	return nil
}

// groupMemory reads memory.current, or memory.usage_in_bytes in version 1.
func groupMemory() Source {
	return Source{
		File: "memory.current", OldFile: "memory.usage_in_bytes", Controller: "memory",
		Metrics: []Metric{{
			Name: GroupMemoryBytes, Column: "CGROUP-MEMORY-BYTES", Unit: "bytes", Kind: Gauge, Scope: Group, Report: true, Optional: true,
			Help: "memory that the control group uses, the page cache of its files included; that of the machine for the root group of version 1",
		}},
		Parse: func(data []byte, _ string, into []Reading) (err error) {
			into[0].Value, err = parseCount(bytes.TrimSpace(data))
			return err
		},
	}
}

// groupMemoryLimit reads "max" in memory.events, or memory.failcnt in version 1.
func groupMemoryLimit() Source {
	return Source{
		File: "memory.events", OldFile: "memory.failcnt", Controller: "memory",
		Metrics: []Metric{{
			Name: GroupMemoryLimitHits, Column: "CGROUP-MEMORY-LIMIT-HITS", Unit: "times", Kind: Counter, Scope: Group, Report: true, Optional: true,
			Help: "times that the control group reached its memory limit, and pages of it were reclaimed or processes of it killed",
		}},
		Parse: parseMemoryLimit,
	}
}

func parseMemoryLimit(data []byte, _ string, into []Reading) (err error) {
	if !bytes.ContainsRune(data, ' ') {
		into[0].Value, err = parseCount(bytes.TrimSpace(data))
		return err
	}
	for key, value := range words(data) {
		if string(key) == "max" {
			into[0].Value, err = parseCount(value)
			return err
		}
	}
	return errors.New("memory.events must have a line of max")
}

// groupMemoryKinds reads memory.stat, whose keys differ between the versions. In version 1, the
// keys that begin with total_ include descendant groups, as all keys do in version 2.
func groupMemoryKinds() Source {
	return Source{
		File: "memory.stat", OldFile: "memory.stat", Controller: "memory",
		Metrics: []Metric{
			{Name: GroupAnonBytes, Column: "CGROUP-ANON-BYTES", Unit: "bytes", Kind: Gauge, Scope: Group, Report: true, Optional: true,
				Help: "memory of the control group that its processes allocated"},
			{Name: GroupCacheBytes, Column: "CGROUP-PAGE-CACHE-BYTES", Unit: "bytes", Kind: Gauge, Scope: Group, Report: true, Optional: true,
				Help: "memory of the control group that holds pages of files, which the kernel takes back where memory is short"},
		},
		Parse: parseMemoryKinds,
	}
}

func parseMemoryKinds(data []byte, _ string, into []Reading) (err error) {
	for key, value := range words(data) {
		at := 0
		switch string(key) {
		case "anon", "total_rss":
		case "file", "total_cache":
			at = 1
		default:
			continue
		}
		if into[at].Value, err = parseCount(value); err != nil {
			return fmt.Errorf("%s in memory.stat: %w", key, err)
		}
	}
	return nil
}

// groupMemoryPressure reads memory.pressure.
func groupMemoryPressure() Source {
	return groupPressure("memory", "memory",
		Metric{Name: GroupMemoryPressure, Column: "CGROUP-MEMORY-PRESSURE-SECONDS"}, Metric{Name: GroupMemoryPressureFull, Column: "CGROUP-MEMORY-PRESSURE-FULL-SECONDS"})
}

// groupCPUPressure reads cpu.pressure.
func groupCPUPressure() Source {
	return groupPressure("cpu", "a processor",
		Metric{Name: GroupCPUPressureSome, Column: "CGROUP-CPU-PRESSURE-SOME-SECONDS"}, Metric{Name: GroupCPUPressureFull, Column: "CGROUP-CPU-PRESSURE-FULL-SECONDS"})
}

// groupIOPressure reads io.pressure.
func groupIOPressure() Source {
	return groupPressure("io", "a device",
		Metric{Name: GroupIOPressureSome, Column: "CGROUP-IO-PRESSURE-SOME-SECONDS"}, Metric{Name: GroupIOPressureFull, Column: "CGROUP-IO-PRESSURE-FULL-SECONDS"})
}

// groupPressure reads the pressure in the group, which version 1 lacks.
func groupPressure(of, resource string, some, full Metric) Source {
	file := of + ".pressure"
	for _, m := range []*Metric{&some, &full} {
		m.Unit, m.Kind, m.Scope, m.Decimals, m.Report, m.Optional = "s", Counter, Group, Exact, true, true
	}
	some.Help = "time in which at least one task of the control group waited for " + resource
	full.Help = "time in which all tasks of the control group that had work waited for " + resource
	return Source{File: file, OldFile: file, Controller: of, Divisor: 1e6, Metrics: []Metric{some, full}, Parse: parsePressure}
}

// words yields the two words in each line "key value".
func words(data []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		for line := range bytes.Lines(data) {
			key, value, ok := bytes.Cut(line, []byte{' '})
			if ok && !yield(key, bytes.TrimSpace(value)) {
				return
			}
		}
	}
}
