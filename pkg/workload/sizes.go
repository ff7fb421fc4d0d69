package workload

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"
)

// SizeLaw decides value sizes between the smallest and the largest. The set is closed.
type SizeLaw string

// The size laws. Without one, sizes are uniform.
const (
	// SizesLognormal has sizes whose logarithms are normal: many small and few large ones.
	SizesLognormal SizeLaw = "lognormal"
	// SizesHistogram has a list of sizes with weights.
	SizesHistogram SizeLaw = "histogram"
)

// SizeLaws returns all size laws.
func SizeLaws() []SizeLaw { return []SizeLaw{SizesLognormal, SizesHistogram} }

// Sizes defines the law for value sizes in bytes. Apart from Sizes, a size depends only on the seed
// and the request number.
type Sizes struct {
	Law SizeLaw `json:"law,omitempty"`
	// P50 and P99 are percentiles for a lognormal law without bounds.
	P50 int `json:"p50,omitempty"`
	P99 int `json:"p99,omitempty"`
	// Bins are the sizes in a histogram, ascending, and File is where they were read.
	Bins []SizeBin `json:"bins,omitempty"`
	File string    `json:"file,omitempty"`
}

// SizeBin is one size in a histogram.
type SizeBin struct {
	Bytes int `json:"bytes"`
	// Count is relative to the sum of all counts.
	Count int64 `json:"count"`
}

// Bounds on histograms. The sum of all counts fits into 62 bits.
const (
	MaxSizeBins  = 10_000
	maxSizeCount = 1 << 48
)

// ParseSizeBins reads a histogram: each line has a size in bytes, a comma and a count, by ascending
// size. The first line may name columns; empty lines are ignored.
func ParseSizeBins(text string) ([]SizeBin, error) {
	var bins []SizeBin
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		size, count, two := strings.Cut(line, ",")
		bytes, err := strconv.Atoi(strings.TrimSpace(size))
		many, countErr := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		switch {
		case line == "", n == 0 && err != nil && countErr != nil:
			continue
		case !two || err != nil || countErr != nil:
			return nil, fmt.Errorf("line %d: want a size in bytes, a comma and a count, got %q", n+1, line[:min(len(line), 40)])
		case bytes < 0 || many < 1 || many > maxSizeCount:
			return nil, fmt.Errorf("line %d: a size must not be negative, and a count must be from 1 to %d, got %d and %d", n+1, int64(maxSizeCount), bytes, many)
		case len(bins) > 0 && bytes <= bins[len(bins)-1].Bytes:
			return nil, fmt.Errorf("line %d: sizes must ascend, got %d after %d", n+1, bytes, bins[len(bins)-1].Bytes)
		case len(bins) == MaxSizeBins:
			return nil, fmt.Errorf("line %d: a histogram has at most %d sizes", n+1, MaxSizeBins)
		}
		bins = append(bins, SizeBin{bytes, many})
	}
	if len(bins) == 0 {
		return nil, fmt.Errorf("it has no sizes")
	}
	return bins, nil
}

// String returns the law as text: "lognormal, p50 775, p99 2800".
func (s Sizes) String() string {
	switch s.Law {
	case SizesLognormal:
		return fmt.Sprintf("lognormal, p50 %d, p99 %d", s.P50, s.P99)
	case SizesHistogram:
		return fmt.Sprintf("histogram of %d sizes", len(s.Bins))
	}
	return ""
}

// Sizer draws value sizes for a load. It is safe for concurrent use.
type Sizer struct {
	low, high int
	// For a lognormal law: the logarithm's mean and deviation, and the part of the distribution
	// between the bounds.
	mu, sigma, from, to float64
	// For a histogram: the sum of counts up to each bin.
	bins []SizeBin
	upTo []int64
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// NewSizer returns the sizer for a load.
func NewSizer(l *Load) Sizer {
	s := Sizer{low: l.ValueSize, high: l.LargestValue()}
	switch l.Sizes.Law {
	case SizesLognormal:
		s.mu = math.Log(float64(l.Sizes.P50))
		s.sigma = (math.Log(float64(l.Sizes.P99)) - s.mu) / z99
		part := func(size float64) float64 {
			return math.Erfc((s.mu-math.Log(size))/(s.sigma*math.Sqrt2)) / 2
		}
		s.from, s.to = part(float64(s.low)-0.5), part(float64(s.high)+0.5)
	case SizesHistogram:
		s.bins = l.Sizes.Bins
		sum := int64(0)
		for _, b := range s.bins {
			sum += b.Count
			s.upTo = append(s.upTo, sum)
		}
	}
	return s
}

// Size returns the size that belongs to 64 random bits.
func (s *Sizer) Size(draw uint64) int {
	switch {
	case s.high <= s.low:
		return s.low
	case s.sigma > 0:
		u := s.from + (s.to-s.from)*(float64(draw>>11)+0.5)/(1<<53)
		size := math.Exp(s.mu + s.sigma*math.Sqrt2*math.Erfinv(2*u-1))
		return min(max(int(math.Round(size)), s.low), s.high)
	case len(s.bins) > 0:
		at := int64(below(draw, uint64(s.upTo[len(s.upTo)-1])))
		return s.bins[sort.Search(len(s.upTo), func(i int) bool { return s.upTo[i] > at })].Bytes
	}
	return s.low + int(below(draw, uint64(s.high-s.low+1)))
}

// below maps 64 random bits to [0, n).
func below(draw, n uint64) uint64 {
	hi, _ := bits.Mul64(draw, n)
	return hi
}

// MeanValueSize returns the mean value size in bytes.
func (l *Load) MeanValueSize() float64 {
	s := NewSizer(l)
	switch {
	case len(s.bins) > 0:
		var sum float64
		for _, b := range s.bins {
			sum += float64(b.Bytes) * float64(b.Count)
		}
		return sum / float64(s.upTo[len(s.upTo)-1])
	case s.sigma > 0:
		// The integral over the quantiles.
		const parts = 1 << 14
		var sum float64
		for i := range uint64(parts) {
			sum += float64(s.Size((2*i + 1) << (64 - 15)))
		}
		return sum / parts
	}
	return float64(s.low+s.high) / 2
}
