package run

import (
	"fmt"
	"math"
	"slices"
)

// Measure is a measured number, or the reason why it is unknown. This package has no other encoding
// for unknown numbers.
type Measure struct {
	Value float64
	// N counts the requests, samples or members behind Value; 0 if such a count is meaningless.
	N int64
	// Low and High bound the true value if the records do not give it exactly. Both are 0 for an
	// exact value. High is +Inf if only a lower bound is known.
	Low, High float64
	// Digits counts the significant digits of Value, as kept by a histogram; 0 means all.
	Digits int
	// Marks are footnotes.
	Marks []string
	// Missing is the reason why there is no value; "" if there is one.
	Missing string
	// Words are printed instead of a missing value; "" means "not measured".
	Words string
	// Inapplicable means that there can be no value, so nothing is missing.
	Inapplicable bool
}

// Measured returns a value based on n requests, samples or members. A value that is not finite
// counts as not recorded.
func Measured(v float64, n int64) Measure {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing("not recorded")
	}
	return Measure{Value: v, N: n}
}

// Counted returns a whole number.
func Counted(n int64) Measure { return Measure{Value: float64(n)} }

// Missing returns a measure that has a reason instead of a value.
func Missing(format string, args ...any) Measure {
	return Measure{Missing: fmt.Sprintf(format, args...)}
}

// Inapplicable returns a measure with the reason why there is nothing to measure.
func Inapplicable(format string, args ...any) Measure {
	return Measure{Missing: fmt.Sprintf(format, args...), Inapplicable: true}
}

// Known reports whether there is a value.
func (m Measure) Known() bool { return m.Missing == "" }

// Float returns the value, or NaN, which figures draw as a gap.
func (m Measure) Float() float64 {
	if !m.Known() {
		return math.NaN()
	}
	return m.Value
}

// Times returns the measure in another unit.
func (m Measure) Times(factor float64) Measure {
	m.Value, m.Low, m.High = m.Value*factor, m.Low*factor, m.High*factor
	return m
}

// Int returns a count, or 0 if it is missing.
func (m Measure) Int() int64 { return int64(m.Value) }

// AtLeast reports whether Value is only a lower bound.
func (m Measure) AtLeast() bool { return math.IsInf(m.High, 1) }

// Marked reports whether the measure has a mark.
func (m Measure) Marked(mark string) bool { return slices.Contains(m.Marks, mark) }
