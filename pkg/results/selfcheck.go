package results

import (
	"fmt"
	"time"
)

// SelfCheck is how exactly a machine measures and paces, as dbtester selfcheck
// found it: what the client's own part in the numbers of a run is at least.
type SelfCheck struct {
	// Date is when the check began, in the clock of its machine.
	Date time.Time `json:"date"`
	Tool Tool      `json:"tool"`
	Host Host      `json:"host"`
	// Duration is that of each of the two loads that were compared with the truth.
	Duration time.Duration `json:"duration_ns"`
	// ServiceP99 is of the load in a closed loop, ResponseP99 of the one with a rate.
	ServiceP99  Compared `json:"service_p99"`
	ResponseP99 Compared `json:"response_p99"`
	// HighestRate is the highest rate that clients that do nothing kept, in requests
	// per second; 0 if they kept none.
	HighestRate float64 `json:"highest_rate_per_second"`
	// MissedRates are those that were tried and not kept. What else ran on the machine
	// may have disturbed one below HighestRate.
	MissedRates []float64 `json:"missed_rates_per_second,omitempty"`
	// TimerLateness and ClientLateness are by how much waits a millisecond apart
	// overshoot: those for a timer of the Go runtime, and those of one client.
	TimerLateness  Spread `json:"timer_lateness"`
	ClientLateness Spread `json:"client_lateness"`
}

// Compared is a latency beside the truth; N is how many requests both are of.
type Compared struct {
	N        int64 `json:"n"`
	Measured int64 `json:"measured_ns"`
	True     int64 `json:"true_ns"`
}

// Elsewhere says why the check tells nothing of a machine, as what follows "is";
// "" means that it was made there since it was started.
func (s *SelfCheck) Elsewhere(h Host) string {
	switch o := s.Host; {
	case o.Name != h.Name || o.CPUModel != h.CPUModel || o.CPUs != h.CPUs:
		return fmt.Sprintf("of another machine (%s, CPUs %d, %s)", o.Name, o.CPUs, o.CPUModel)
	case o.AllowedCPUs() != h.AllowedCPUs():
		return fmt.Sprintf("of this machine with another share of its processors (CPUs %g, not %g)", o.AllowedCPUs(), h.AllowedCPUs())
	case o.BootID != h.BootID:
		return "of another machine of this name, or from before this one was started again"
	}
	return ""
}
