package run

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// Quantity is a metric of samples. Values below 0 are not recorded. Those that the classic
// tool recorded wrongly are corrected, or not recorded.
type Quantity struct {
	metric metric.Name
	at     int     // its index in the list of metrics
	scale  float64 // 0 is 1
	// ofProcesses: the kernel counts it for each process, and forgets it when one ends.
	ofProcesses bool
}

// Counter is a quantity that counts, and Gauge one that is of a moment.
type (
	Counter = Quantity
	Gauge   = Quantity
)

// Of is the quantity of a metric, which must be declared.
func Of(n metric.Name) Quantity {
	all := metric.System()
	m := all.Must(n)
	at, _ := all.Index(n)
	return Quantity{metric: n, at: at, ofProcesses: m.Scope == metric.Process}
}

// Scaled is the quantity in another unit; a scale of 0 is 1.
func (q Quantity) Scaled(scale float64) Quantity {
	q.scale = scale
	return q
}

// in returns the value in a sample.
func (q Quantity) in(s *results.Sample) float64 {
	return q.value(s.Values.At(q.at), s.PeriodNS, s.Classic)
}

// value returns the value of a sample with a period.
func (q Quantity) value(v float64, period int64, classic bool) float64 {
	switch q.metric {
	case metric.CPUPercent:
		if period == 0 { // the share of a core over the period, which the first sample does not have
			return metric.Unknown
		}
	case metric.RSSBytes:
		if classic && v > 0 { // it multiplied the kernel's kB, which are 1024 bytes, by 1000
			v = v / 1000 * 1024
		}
	case metric.VoluntarySwitches, metric.NonvoluntarySwitches:
		if classic { // it wrote the number of threads
			return metric.Unknown
		}
	}
	if v < 0 || q.scale == 0 {
		return v
	}
	return v * q.scale
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
