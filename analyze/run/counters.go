package run

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Quantity is a sampled metric. Negative values were not recorded. Values that the classic tool
// recorded wrongly are corrected or dropped.
type Quantity struct {
	metric metric.Name
	at     int     // index in the metric list
	scale  float64 // 0 means 1
	// ofProcesses means that the kernel counts per process and forgets the count when the process
	// ends.
	ofProcesses bool
}

// A Counter accumulates. A Gauge is a momentary value.
type (
	Counter = Quantity
	Gauge   = Quantity
)

// Of returns the quantity for a declared metric.
func Of(n metric.Name) Quantity {
	all := metric.System()
	m := all.Must(n)
	at, _ := all.Index(n)
	return Quantity{metric: n, at: at, ofProcesses: m.Scope == metric.Process}
}

// Scaled returns the quantity in another unit; a scale of 0 means 1.
func (q Quantity) Scaled(scale float64) Quantity {
	q.scale = scale
	return q
}

// in returns the value in the sample.
func (q Quantity) in(s *results.Sample) float64 {
	return q.value(s.Values.At(q.at), s.PeriodNS, s.Classic)
}

// value corrects a sampled value, given the sampling period.
func (q Quantity) value(v float64, period int64, classic bool) float64 {
	switch q.metric {
	case metric.CPUPercent:
		if period == 0 { // a share of a core over the period, and the first sample has no period
			return metric.Unknown
		}
	case metric.RSSBytes:
		if classic && v > 0 { // the classic tool multiplied the kernel's kB (1024 bytes) by 1000
			v = v / 1000 * 1024
		}
	case metric.VoluntarySwitches, metric.NonvoluntarySwitches:
		if classic { // the classic tool wrote the thread count
			return metric.Unknown
		}
	}
	if v < 0 || q.scale == 0 {
		return v
	}
	return v * q.scale
}

// SourceOf returns the function that names the physical source of a metric.
func SourceOf(m metric.Metric) Source {
	switch m.Scope {
	case metric.Device:
		return Disk
	case metric.Interface:
		return Network
	case metric.Host:
		return host
	case metric.Namespace:
		return namespace
	case metric.Group:
		return controlGroup
	}
	return Unshared
}

// Source names the physical thing behind a counter, such as a disk; "" if unknown.
type Source func(results.Sample) string

func Disk(s results.Sample) string {
	if s.BootID == "" || s.Device == "" {
		return ""
	}
	return fmt.Sprintf("disk %s of %s", s.Device, s.BootID)
}

func Network(s results.Sample) string {
	if s.BootID == "" || s.Interface == "" {
		return ""
	}
	return fmt.Sprintf("interface %s of %s %s", s.Interface, s.BootID, s.NetNS)
}

func host(s results.Sample) string { return s.BootID }

func namespace(s results.Sample) string {
	if s.BootID == "" {
		return ""
	}
	return fmt.Sprintf("network of %s %s", s.BootID, s.NetNS)
}

func controlGroup(s results.Sample) string {
	if s.BootID == "" || s.Group == "" {
		return ""
	}
	return fmt.Sprintf("group %s of %s %s", s.Group, s.BootID, s.NetNS)
}

// Unshared is the source for metrics that belong to one member alone.
func Unshared(results.Sample) string { return "" }
