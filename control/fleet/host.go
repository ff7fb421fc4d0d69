package fleet

import (
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
)

// HostOf is an agent's machine as records hold it; nil for nil.
func HostOf(h *pb.Host) *results.Host {
	if h == nil {
		return nil
	}
	return &results.Host{
		Name: h.Name, OS: h.Os, Kernel: h.Kernel, CPUModel: h.CpuModel, CPUs: int(h.Cpus),
		MemoryBytes: h.MemoryBytes, BootID: h.BootId, NetNS: h.NetNs, OnlineCPUs: int(h.OnlineCpus), CPUQuota: h.CpuQuota,
		CPUGovernor: h.CpuGovernor, ClockSync: h.ClockSync,
		ClockMaxError: time.Duration(h.ClockMaxErrorNs), ClockEstError: time.Duration(h.ClockEstErrorNs),
		TimeService: h.TimeService,
	}
}
