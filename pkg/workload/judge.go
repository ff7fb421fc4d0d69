package workload

import "strconv"

// Percent is a hundred times a fraction: 0.1 is one in a thousand.
type Percent float64

// String returns the share as an experiment file gives it: "0.1%".
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%" }

// Bounds are limits for one share measured in a step. A share past Mark is marked. A share past
// Invalid makes the run invalid.
type Bounds struct {
	Mark    Percent `json:"mark_percent"`
	Invalid Percent `json:"invalid_percent"`
}

// Judge holds the bounds for a load. The zero value stands for [DefaultJudge].
type Judge struct {
	// Achieved bounds the share of requests due at a rate that were answered in time. It is the
	// only share that must not be below its bounds; the others must not be above theirs.
	Achieved Bounds `json:"achieved"`
	// Failed and Unknown bound shares of the requests due in the measured window.
	Failed  Bounds `json:"failed"`
	Unknown Bounds `json:"unknown"`
	// Unsent bounds the share of these requests not sent by the end of the drain.
	Unsent Bounds `json:"unsent"`
	// Waiting bounds the share of time in which clients had no server.
	Waiting Bounds `json:"waiting"`
	// ClientDelay bounds the share of response times that the client caused itself.
	ClientDelay Bounds `json:"client_delay"`
}

// DefaultJudge returns the bounds for a load that sets no bounds. docs/workloads.md gives the
// reasons.
func DefaultJudge() Judge {
	return Judge{
		Achieved:    Bounds{Mark: 99, Invalid: 95},
		Failed:      Bounds{Mark: 0.1, Invalid: 1},
		Unknown:     Bounds{Mark: 0.1, Invalid: 1},
		Unsent:      Bounds{Mark: 0, Invalid: 1},
		Waiting:     Bounds{Mark: 0.1, Invalid: 5},
		ClientDelay: Bounds{Mark: 5, Invalid: 25},
	}
}

// Expect says what may go wrong in a load that tests failures: the shares of requests that may fail
// or end with an unknown outcome, and the number of servers that may be lost.
type Expect struct {
	Failed      Percent `json:"failed_percent,omitempty"`
	Unknown     Percent `json:"unknown_percent,omitempty"`
	LostServers int     `json:"lost_servers,omitempty"`
}

// Failures reports whether requests may fail, or end with an unknown outcome.
func (e Expect) Failures() bool { return e.Failed > 0 || e.Unknown > 0 }
