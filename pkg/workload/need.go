package workload

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Need is what a reader needs of a database: so many requests a second, and of all that
// are due, how many may take how long and how many may fail.
type Need struct {
	// Rate is in requests per second, above 0.
	Rate float64 `json:"rate"`
	// Latency is the largest response time At that percentile.
	Latency time.Duration `json:"latency_ns"`
	At      Percentile    `json:"at"`
	// Errors is the largest share of the requests that are not answered ok.
	Errors Percent `json:"errors_percent"`
}

// Percentile is a percentile by its short name, such as "p99.9".
type Percentile string

// Percentiles returns those that an experiment file may name.
func Percentiles() []Percentile {
	return []Percentile{"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
}

// Share returns the percentile as a share from 0 to 1, and 0 for a name that is none.
func (p Percentile) Share() float64 {
	v, err := strconv.ParseFloat(strings.TrimPrefix(string(p), "p"), 64)
	if err != nil {
		return 0
	}
	return math.Round(v*1e6) / 1e8 // as the text, in all its digits
}
