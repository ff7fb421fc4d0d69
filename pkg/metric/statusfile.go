package metric

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// Metrics from /proc/PID/status.
const (
	RSSBytes             Name = "rss_bytes"
	RSSAnonBytes         Name = "rss_anon_bytes"
	PeakRSSBytes         Name = "peak_rss_bytes"
	VirtualBytes         Name = "virtual_bytes"
	Threads              Name = "threads"
	VoluntarySwitches    Name = "voluntary_switches"
	NonvoluntarySwitches Name = "nonvoluntary_switches"
)

// memory reads /proc/PID/status.
func memory() Source {
	return Source{
		File: "status",
		Metrics: []Metric{
			{Name: RSSBytes, Column: "VMRSS-NUM", Unit: "bytes", Kind: Gauge, Scope: Process, Help: "resident memory"},
			{Name: RSSAnonBytes, Column: "RSS-ANON-BYTES", Unit: "bytes", Kind: Gauge, Scope: Process, Help: "resident anonymous memory: allocated, without file pages"},
			{Name: PeakRSSBytes, Column: "PEAK-RSS-BYTES", Unit: "bytes", Kind: Gauge, Scope: Process, Help: "largest resident memory since the start, as the kernel keeps it"},
			{Name: VirtualBytes, Column: "VMSIZE-NUM", Unit: "bytes", Kind: Gauge, Scope: Process, Help: "virtual memory"},
			{Name: Threads, Column: "THREADS", Unit: "threads", Kind: Gauge, Scope: Process, Help: "number of threads"},
		},
		Parse: parseMemory,
	}
}

// parseMemory leaves metrics without a line unknown: all memory of a process that has ended, and
// counts an older kernel lacks.
func parseMemory(data []byte, _ string, into []Reading) error {
	for key, value := range Fields(data) {
		var err error
		switch string(key) {
		case "VmRSS":
			into[0].Value, err = parseKB(value)
		case "RssAnon":
			into[1].Value, err = parseKB(value)
		case "VmHWM":
			into[2].Value, err = parseKB(value)
		case "VmSize":
			into[3].Value, err = parseKB(value)
		case "Threads":
			into[4].Value, err = parseCount(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// contextSwitches reads the status file for each thread.
func contextSwitches() Source {
	return Source{
		File: "status", Threads: true,
		Metrics: []Metric{
			{Name: VoluntarySwitches, Column: "VOLUNTARY-CTXT-SWITCHES", Unit: "switches", Kind: Counter, Scope: Process, Help: "voluntary context switches by all threads; threads that ended between two samples are missing"},
			{Name: NonvoluntarySwitches, Column: "NON-VOLUNTARY-CTXT-SWITCHES", Unit: "switches", Kind: Counter, Scope: Process, Help: "involuntary context switches by all threads; threads that ended between two samples are missing"},
		},
		Parse: parseSwitches,
	}
}

func parseSwitches(data []byte, _ string, into []Reading) error {
	for key, value := range Fields(data) {
		var err error
		switch string(key) {
		case "voluntary_ctxt_switches":
			into[0].Value, err = parseCount(value)
		case "nonvoluntary_ctxt_switches":
			into[1].Value, err = parseCount(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if into[0].Value < 0 || into[1].Value < 0 {
		return errors.New("no context switches")
	}
	return nil
}

// Fields yields the key and the value in each line "key: value". It skips other lines.
func Fields(data []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for line := range bytes.Lines(data) {
			key, value, ok := bytes.Cut(line, []byte{':'})
			if ok && !yield(key, bytes.TrimSpace(value)) {
				return
			}
		}
	}
}

// parseKB converts a value such as "29820 kB" to bytes. The kernel's kB is 1024
// bytes.
func parseKB(value []byte) (float64, error) {
	digits, ok := bytes.CutSuffix(value, []byte(" kB"))
	if !ok {
		return 0, fmt.Errorf("%q is not in kB", value)
	}
	n, err := parseCount(bytes.TrimSpace(digits))
	return n * 1024, err
}

// parseCount parses a nonnegative whole number.
func parseCount(digits []byte) (float64, error) {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err == nil && n < 0 {
		return Unknown, fmt.Errorf("a count must be 0 or more, got %d", n)
	}
	return float64(n), err
}
