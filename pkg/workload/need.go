package workload

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Need describes the load that a reader needs a database to sustain: requests per second, the share
// of due requests that must meet a latency, and the share that may fail.
type Need struct {
	// Rate is in requests per second, above 0.
	Rate float64 `json:"rate"`
	// Latency is the largest response time At that percentile.
	Latency time.Duration `json:"latency_ns"`
	At      Percentile    `json:"at"`
	// Errors is the largest share of requests that may not be answered ok.
	Errors Percent `json:"errors_percent"`
}

// Percentile has a short name, such as "p99.9".
type Percentile string

// Percentiles returns the percentiles that an experiment file may name.
func Percentiles() []Percentile {
	return []Percentile{"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
}

// Share returns the percentile as a share from 0 to 1, and 0 for an unknown name.
func (p Percentile) Share() float64 {
	v, err := strconv.ParseFloat(strings.TrimPrefix(string(p), "p"), 64)
	if err != nil {
		return 0
	}
	return math.Round(v*1e6) / 1e8 // exact to all digits in the text
}
