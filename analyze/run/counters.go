package run

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Counter reads one cumulative counter of a sample; below 0 is not recorded.
type Counter func(results.Sample) float64

// Gauge reads one momentary value of a sample; below 0 is not recorded.
type Gauge func(results.Sample) float64

// Of reads a metric of a sample; below 0 is not recorded. Values that the classic
// tool recorded wrongly are corrected, or not recorded.
func Of(n metric.Name) func(results.Sample) float64 {
	switch n {
	case metric.CPUPercent:
		return cpuPercent
	case metric.RSSBytes:
		return rssBytes
	case metric.VoluntarySwitches, metric.NonvoluntarySwitches:
		return func(s results.Sample) float64 {
			if s.Classic { // it wrote the number of threads
				return metric.Unknown
			}
			return s.Get(n)
		}
	}
	all := metric.System()
	at, known := all.Index(n)
	return func(s results.Sample) float64 {
		if known && s.Values.List() == all {
			return s.Values.At(at)
		}
		return s.Get(n)
	}
}

// cpuPercent is the share of a core over a sample's period. The first sample has
// no period.
func cpuPercent(s results.Sample) float64 {
	if s.PeriodNS == 0 {
		return metric.Unknown
	}
	return s.Get(metric.CPUPercent)
}

// rssBytes is the resident memory. The classic tool multiplied the kernel's kB,
// which are 1024 bytes, by 1000.
func rssBytes(s results.Sample) float64 {
	v := s.Get(metric.RSSBytes)
	if s.Classic && v > 0 {
		return v / 1000 * 1024
	}
	return v
}

// SourceOf returns how the physical source of a metric is named.
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

// Source names the physical thing that a counter counts, "" if it is unknown.
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

// Unshared is the source of metrics that belong to one member alone.
func Unshared(results.Sample) string { return "" }
