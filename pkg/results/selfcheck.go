package results

import (
	"fmt"
	"time"
)

// SelfCheck records how exactly a machine measures and paces, found by dbtester selfcheck: a lower
// bound for the client's own part in a run's numbers.
type SelfCheck struct {
	// Date is when the check began, by its machine's clock.
	Date time.Time `json:"date"`
	Tool Tool      `json:"tool"`
	Host Host      `json:"host"`
	// Duration is the time for each of the two loads compared with the truth.
	Duration time.Duration `json:"duration_ns"`
	// ServiceP99 comes from the load in a closed loop, ResponseP99 from the one with a rate.
	ServiceP99  Compared `json:"service_p99"`
	ResponseP99 Compared `json:"response_p99"`
	// HighestRate is the highest rate that idle clients kept, in requests per second; 0 if they
	// kept no rate.
	HighestRate float64 `json:"highest_rate_per_second"`
	// MissedRates are the rates tried and not kept. Other programs on the machine may have
	// disturbed a rate below HighestRate.
	MissedRates []float64 `json:"missed_rates_per_second,omitempty"`
	// TimerLateness and ClientLateness are the overshoots of waits a millisecond apart: waits for
	// a Go runtime timer, and waits by one client.
	TimerLateness  Spread `json:"timer_lateness"`
	ClientLateness Spread `json:"client_lateness"`
}

// Compared is a latency and its true value; N counts the requests in both.
type Compared struct {
	N        int64 `json:"n"`
	Measured int64 `json:"measured_ns"`
	True     int64 `json:"true_ns"`
}

// LoadCheck records the latency that the client adds to a load, measured before the load: its
// heaviest step was applied to a loopback server which speaks the protocol of the database and
// answers after a known delay. The rest includes the connection and the protocol on both sides.
type LoadCheck struct {
	// Unavailable is the reason why the load could not be checked; then all measured values
	// are zero.
	Unavailable string `json:"unavailable,omitempty"`
	Clients     int    `json:"clients"`
	Connections int    `json:"connections"`
	// Rate is in requests per second; 0 is a closed loop.
	Rate     float64       `json:"rate_per_second,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	// Delay is the server's intended delay; the true times below are its real ones.
	Delay time.Duration `json:"delay_ns"`
	// P50 and P99 are service times.
	P50 Compared `json:"service_p50"`
	P99 Compared `json:"service_p99"`
	// Lateness is the time from due to sent by the client; nil for a closed loop.
	Lateness *Spread `json:"lateness,omitempty"`
	// RequestsPerSecond counts requests that ended ok.
	RequestsPerSecond float64 `json:"requests_per_second"`
}

// Added returns what the client added, in nanoseconds.
func (c Compared) Added() int64 { return c.Measured - c.True }

// Elsewhere returns the reason why the check does not apply to a machine, as a phrase
// after "is"; "" if the check was made there since the machine was started.
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
