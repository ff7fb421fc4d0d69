package metric

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Metrics from /proc/loadavg.
const (
	Load1  Name = "load1"
	Load5  Name = "load5"
	Load15 Name = "load15"
)

// loadAverage reads /proc/loadavg.
func loadAverage() Source {
	return Source{
		File: "loadavg",
		Metrics: []Metric{
			{Name: Load1, Column: "LOAD-AVERAGE-1-MINUTE", Unit: "tasks", Kind: Gauge, Scope: Host, Decimals: 2, Help: "mean run queue length over 1 minute"},
			{Name: Load5, Column: "LOAD-AVERAGE-5-MINUTE", Unit: "tasks", Kind: Gauge, Scope: Host, Decimals: 2, Help: "mean run queue length over 5 minutes"},
			{Name: Load15, Column: "LOAD-AVERAGE-15-MINUTE", Unit: "tasks", Kind: Gauge, Scope: Host, Decimals: 2, Help: "mean run queue length over 15 minutes"},
		},
		Parse: parseLoadAverage,
	}
}

func parseLoadAverage(data []byte, _ string, into []Reading) error {
	fields := bytes.Fields(data)
	if len(fields) < len(into) {
		return fmt.Errorf("loadavg must have %d numbers, got %q", len(into), data)
	}
	for i := range into {
		v, err := strconv.ParseFloat(string(fields[i]), 64)
		if err != nil {
			return fmt.Errorf("loadavg: %w", err)
		}
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("loadavg must have numbers of 0 or more, got %q", data)
		}
		into[i].Value = v
	}
	return nil
}
