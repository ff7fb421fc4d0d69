package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Buckets is a histogram: for each bound, the number of values at or below it. The zero Buckets
// means an unknown histogram. Buckets are immutable.
type Buckets struct {
	// Bounds ascend; the last one is +Inf.
	Bounds []float64
	// Counts are cumulative, one per bound.
	Counts []float64
}

// maxBuckets limits the size of a histogram. Databases use about twenty buckets.
const maxBuckets = 200

// Known reports whether there is a histogram.
func (b Buckets) Known() bool { return len(b.Bounds) > 0 }

// Count returns the number of all values.
func (b Buckets) Count() float64 {
	if !b.Known() {
		return 0
	}
	return b.Counts[len(b.Counts)-1]
}

// Check returns an error if the buckets are not a valid histogram.
func (b Buckets) Check() error {
	switch {
	case len(b.Bounds) != len(b.Counts):
		return fmt.Errorf("a histogram must have a count for each bound, got %d and %d", len(b.Counts), len(b.Bounds))
	case !b.Known():
		return nil
	case len(b.Bounds) > maxBuckets:
		return fmt.Errorf("a histogram must have at most %d buckets, got %d", maxBuckets, len(b.Bounds))
	case !math.IsInf(b.Bounds[len(b.Bounds)-1], 1):
		return errors.New("the last bound of a histogram must be +Inf")
	case !(b.Bounds[0] >= 0):
		return fmt.Errorf("the first bound of a histogram must be 0 or more, got %v", b.Bounds[0])
	}
	for i := range b.Bounds {
		switch {
		case !(b.Counts[i] >= 0) || math.IsInf(b.Counts[i], 0) || i > 0 && b.Counts[i] < b.Counts[i-1]:
			return fmt.Errorf("counts of a histogram must rise from 0, got %v", b.Counts)
		case math.IsNaN(b.Bounds[i]) || i > 0 && b.Bounds[i] <= b.Bounds[i-1]:
			return fmt.Errorf("bounds of a histogram must rise, got %v", b.Bounds)
		}
	}
	return nil
}

// Since returns the values added since an earlier state of the histogram. It returns false if they
// cannot be determined: a state is unknown, the bounds differ, or the counts fell because the
// member restarted.
func (b Buckets) Since(earlier Buckets) (Buckets, bool) {
	if !b.Known() || !slices.Equal(b.Bounds, earlier.Bounds) {
		return Buckets{}, false
	}
	d := Buckets{Bounds: b.Bounds, Counts: make([]float64, len(b.Counts))}
	for i := range b.Counts {
		d.Counts[i] = b.Counts[i] - earlier.Counts[i]
	}
	return d, d.Check() == nil
}

// Plus adds two histograms, one of which may be unknown. It returns false if their bounds differ.
func (b Buckets) Plus(other Buckets) (Buckets, bool) {
	switch {
	case !b.Known():
		return other, true
	case !other.Known():
		return b, true
	case !slices.Equal(b.Bounds, other.Bounds):
		return Buckets{}, false
	}
	sum := Buckets{Bounds: b.Bounds, Counts: make([]float64, len(b.Counts))}
	for i := range b.Counts {
		sum.Counts[i] = b.Counts[i] + other.Counts[i]
	}
	return sum, true
}

// Quantile returns the bucket that holds the value with rank ceil(q*n). The value is above low (in
// the first bucket: at least 0) and at most high, which may be +Inf. known is false for a histogram
// without values. q lies in (0, 1].
func (b Buckets) Quantile(q float64) (low, high float64, known bool) {
	n := b.Count()
	if n == 0 {
		return 0, 0, false
	}
	rank := math.Ceil(q * n)
	for i, count := range b.Counts {
		if count >= rank {
			if i > 0 {
				low = b.Bounds[i-1]
			}
			return low, b.Bounds[i], true
		}
	}
	return b.Bounds[len(b.Bounds)-1], math.Inf(1), true
}

// AppendText appends the buckets as "0.001=4 0.002=5 +Inf=7".
func (b Buckets) AppendText(to []byte) []byte {
	for i := range b.Bounds {
		if i > 0 {
			to = append(to, ' ')
		}
		if math.IsInf(b.Bounds[i], 1) {
			to = append(to, "+Inf"...)
		} else {
			to = strconv.AppendFloat(to, b.Bounds[i], 'g', -1, 64)
		}
		to = strconv.AppendFloat(append(to, '='), b.Counts[i], 'f', -1, 64)
	}
	return to
}

// ParseBuckets parses what [Buckets.AppendText] writes. An empty text means an unknown histogram.
func ParseBuckets(text string) (Buckets, error) {
	n := min(strings.Count(text, "="), maxBuckets)
	b := Buckets{Bounds: make([]float64, 0, n), Counts: make([]float64, 0, n)}
	for part := range strings.FieldsSeq(text) {
		bound, count, ok := strings.Cut(part, "=")
		if !ok || len(b.Bounds) == maxBuckets {
			return Buckets{}, fmt.Errorf("a histogram must be at most %d of BOUND=COUNT, got %q", maxBuckets, part)
		}
		for _, number := range []struct {
			text string
			into *[]float64
		}{{bound, &b.Bounds}, {count, &b.Counts}} {
			v, err := strconv.ParseFloat(number.text, 64)
			if err != nil {
				return Buckets{}, fmt.Errorf("histogram: %w", err)
			}
			*number.into = append(*number.into, v)
		}
	}
	if len(b.Bounds) == 0 {
		return Buckets{}, nil
	}
	if err := b.Check(); err != nil {
		return Buckets{}, err
	}
	return b, nil
}

// BucketsReader parses histograms one after another. A histogram with the same bounds as the
// previous one shares them, and is parsed in a fraction of the time. The zero BucketsReader is
// ready to use; it is not safe for concurrent use.
type BucketsReader struct {
	texts  []string // the bounds as text
	bounds []float64
}

// Parse calls [ParseBuckets].
func (r *BucketsReader) Parse(text string) (Buckets, error) {
	if b, ok := r.again(text); ok {
		return b, nil
	}
	b, err := ParseBuckets(text)
	if err != nil || !b.Known() {
		return b, err
	}
	if slices.Equal(r.bounds, b.Bounds) {
		b.Bounds = r.bounds
	}
	r.texts, r.bounds = r.texts[:0], b.Bounds
	for part := range strings.FieldsSeq(text) {
		bound, _, _ := strings.Cut(part, "=")
		r.texts = append(r.texts, strings.Clone(bound))
	}
	return b, nil
}

// again parses a histogram that has the previous one's bounds and single spaces as separators. It
// returns false for any other histogram.
func (r *BucketsReader) again(text string) (Buckets, bool) {
	if len(r.texts) == 0 {
		return Buckets{}, false
	}
	counts, before := make([]float64, len(r.texts)), 0.0
	for i, bound := range r.texts {
		if !strings.HasPrefix(text, bound) || !strings.HasPrefix(text[len(bound):], "=") {
			return Buckets{}, false
		}
		rest := text[len(bound)+1:]
		field, left, more := strings.Cut(rest, " ")
		if more != (i < len(r.texts)-1) {
			return Buckets{}, false
		}
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || !(v >= before) || math.IsInf(v, 0) {
			return Buckets{}, false
		}
		counts[i], before, text = v, v, left
	}
	return Buckets{Bounds: r.bounds, Counts: counts}, true
}
