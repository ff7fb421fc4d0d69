package results

import "time"

// Clock is an offset from four time stamps as in NTP, for the heartbeat with the shortest round
// trip: the agent clock is Offset ahead of the client clock, give or take Error (half that round
// trip). All heartbeats are in clock.csv.
type Clock struct {
	Offset time.Duration `json:"offset_ns"`
	Error  time.Duration `json:"error_ns"`
	N      int           `json:"heartbeats"`
	// Moved is the distance that the offset surely moved between two heartbeats, and Furthest the
	// greatest sure distance from the client clock, both beyond the errors. Older manifests have
	// neither.
	Moved    time.Duration `json:"moved_ns,omitempty"`
	Furthest time.Duration `json:"furthest_ns,omitempty"`
}

// Host describes one machine.
type Host struct {
	Name     string `json:"name"`
	OS       string `json:"os"`
	Kernel   string `json:"kernel"`
	CPUModel string `json:"cpu_model"`
	// CPUs counts the processors that the process may run on, OnlineCPUs all on the machine; 0 if
	// not recorded.
	CPUs       int `json:"cpus"`
	OnlineCPUs int `json:"online_cpus,omitempty"`
	// CPUQuota is the processor time that its control groups allow the process, in processors,
	// possibly a fraction; 0 means no limit.
	CPUQuota    float64 `json:"cpu_quota,omitempty"`
	MemoryBytes int64   `json:"memory_bytes"`
	// CPUGovernor is how the processors choose their frequency, such as "performance"; empty where
	// the kernel does not choose, as in most virtual machines.
	CPUGovernor string `json:"cpu_governor,omitempty"`
	// ClockSync is "synchronized" if a time service keeps the clock, else "not
	// synchronized"; empty if unknown. ClockMaxError and ClockEstError are the largest and the
	// likely error stated by the kernel; 0 if unknown.
	ClockSync     string        `json:"clock_sync,omitempty"`
	ClockMaxError time.Duration `json:"clock_max_error_ns,omitempty"`
	ClockEstError time.Duration `json:"clock_est_error_ns,omitempty"`
	// TimeService names the programs keeping the clock, such as "chronyd"; empty if no such
	// program was seen.
	TimeService string `json:"time_service,omitempty"`
	// BootID is equal for hosts on one machine, NetNS also for hosts sharing one network
	// namespace.
	BootID string `json:"boot_id"`
	NetNS  string `json:"net_ns"`
}

// AllCPUs returns the number of processors in the machine; 0 if not recorded. The process may not
// be allowed to run on some.
func (h Host) AllCPUs() int { return max(h.OnlineCPUs, h.CPUs) }

// AllowedCPUs returns the number of processors that the process may keep busy: the processors it
// may run on, or its quota if that is less; 0 if not recorded.
func (h Host) AllowedCPUs() float64 {
	if h.CPUQuota > 0 {
		return min(float64(h.CPUs), h.CPUQuota)
	}
	return float64(h.CPUs)
}

// Tool is the dbtester that ran.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}
