package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
	"github.com/coreos/dbtester/pkg/results"
)

// LoadText describes a load in one sentence.
func LoadText(r *run.Run) string {
	l := r.Info.Record.Load
	var parts []string
	if l.Workload != "" {
		parts = append(parts, l.Workload)
	}
	parts = append(parts, operation(r).Text)
	if l.Keys > 0 {
		parts = append(parts, fmt.Sprintf("%s keys before the load (%s)", keysBefore(r).Text, l.KeyLaw))
	}
	parts = append(parts, setting.Lengths(r), rate(r).Text, "key + value "+payload(r).Text+" bytes")
	if text := l.DescribeRange(); text != "" {
		parts = append(parts, text)
	}
	if l.Timeout > 0 {
		parts = append(parts, "time-out "+l.Timeout.String())
	}
	if l.Target != "" {
		parts = append(parts, "connections to "+l.Target)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// StepsText lists the steps with their clients, rates and lengths.
func StepsText(r *run.Run) string {
	var parts []string
	for _, s := range r.Info.Record.Steps {
		text := fmt.Sprintf("%d client%s on %d connection%s", s.Clients, run.Plural(s.Clients), s.Connections, run.Plural(s.Connections))
		if s.Rate > 0 {
			text += ", " + run.RateText(s.Rate, s.RateEnd)
		}
		if !s.Start.IsZero() && !s.End.IsZero() {
			text += fmt.Sprintf(", took %s", s.End.Sub(s.Start).Round(time.Millisecond))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// MachineText describes a machine.
func MachineText(h results.Host) string {
	memory := ""
	if h.MemoryBytes > 0 {
		memory = run.HumanSize(float64(h.MemoryBytes))
	}
	cpus := ""
	if h.CPUs > 0 {
		cpus = strings.TrimSpace(cpusText(h) + " " + h.CPUModel)
	}
	parts := []string{h.Name, cpus, memory, strings.TrimSpace(h.OS + " " + h.Kernel)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// cpusText formats the number of processors, and the usable number if lower.
func cpusText(h results.Host) string {
	allowed := h.AllowedCPUs()
	if all := h.AllCPUs(); allowed < float64(all) {
		return fmt.Sprintf("%g of %d CPU%s", allowed, all, run.Plural(all))
	}
	return fmt.Sprintf("%d CPU%s", h.CPUs, run.Plural(h.CPUs))
}
