package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// MachineText describes a machine.
func MachineText(h results.Host) string {
	memory := ""
	if h.MemoryBytes > 0 {
		memory = HumanSize(float64(h.MemoryBytes))
	}
	cpus := ""
	if h.CPUs > 0 {
		cpus = strings.TrimSpace(cpusText(h) + " " + h.CPUModel)
	}
	parts := []string{h.Name, cpus, memory, strings.TrimSpace(h.OS + " " + h.Kernel)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// cpusText prints the number of processors, and how many of them were usable if fewer.
func cpusText(h results.Host) string {
	allowed := h.AllowedCPUs()
	if all := max(h.OnlineCPUs, h.CPUs); allowed < float64(all) {
		return fmt.Sprintf("%g of %d CPU%s", allowed, all, run.Plural(all))
	}
	return fmt.Sprintf("%d CPU%s", h.CPUs, run.Plural(h.CPUs))
}
