package workload

import "strconv"

// Percent is a share in percent: 0.1 is one in a thousand.
type Percent float64

// String returns the share as an experiment file gives it: "0.1%".
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%" }

// Bounds are the limits of one measured share of a step. A share past Mark is
// marked. A share past Invalid makes the run invalid.
type Bounds struct {
	Mark    Percent `json:"mark_percent"`
	Invalid Percent `json:"invalid_percent"`
}

// Judge are the bounds of a load. The zero value stands for [DefaultJudge].
type Judge struct {
	// Achieved is of the requests that a rate made due: the share that was answered
	// in time. It is the one share that must not be below its bounds; the others must
	// not be above them.
	Achieved Bounds `json:"achieved"`
	// Failed and Unknown are of the requests that were due in the measured window.
	Failed  Bounds `json:"failed"`
	Unknown Bounds `json:"unknown"`
	// Unsent is of the same requests: the share that was due and not sent by the end of
	// the drain.
	Unsent Bounds `json:"unsent"`
	// Waiting is of the clients' time: the share in which they had no server.
	Waiting Bounds `json:"waiting"`
	// ClientDelay is of the response times: the share that the client caused itself.
	ClientDelay Bounds `json:"client_delay"`
}

// DefaultJudge returns the bounds of a load that gives none. docs/workloads.md has
// the reason for each.
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

// Expect are the failures that are part of a load that tests them: the shares of requests
// that may fail, or end with an unknown outcome, and how many servers may be lost.
type Expect struct {
	Failed      Percent `json:"failed_percent,omitempty"`
	Unknown     Percent `json:"unknown_percent,omitempty"`
	LostServers int     `json:"lost_servers,omitempty"`
}

// Failures reports whether requests may fail, or end with an unknown outcome.
func (e Expect) Failures() bool { return e.Failed > 0 || e.Unknown > 0 }
