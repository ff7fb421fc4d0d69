package run

import (
	"fmt"
	"math"
	"slices"
)

// Measure is a number that was measured, or the reason why there is none. It is the
// only encoding of "not known" in this package.
type Measure struct {
	Value float64
	// N counts the requests, samples or members behind Value; 0 if that means nothing.
	N int64
	// Low and High bound the true value where the records do not give it exactly. Both
	// are 0 for an exact value; High is +Inf where only a lower bound is known.
	Low, High float64
	// Digits is how many significant digits Value has, 0 for all of them: those that a
	// histogram keeps.
	Digits int
	// Marks are footnotes.
	Marks []string
	// Missing is the reason for the lack of a value, "" if there is one.
	Missing string
	// Words are printed in place of a missing value; "" is "not measured".
	Words string
	// Inapplicable measures can have no value, so that none is missing.
	Inapplicable bool
}

// Measured returns a value of n requests, samples or members. A value that is not
// finite was not recorded.
func Measured(v float64, n int64) Measure {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing("not recorded")
	}
	return Measure{Value: v, N: n}
}

// Counted returns a whole number.
func Counted(n int64) Measure { return Measure{Value: float64(n)} }

// Missing returns the reason why something was not measured.
func Missing(format string, args ...any) Measure {
	return Measure{Missing: fmt.Sprintf(format, args...)}
}

// Inapplicable returns the reason why there is nothing to measure.
func Inapplicable(format string, args ...any) Measure {
	return Measure{Missing: fmt.Sprintf(format, args...), Inapplicable: true}
}

// Known reports whether there is a value.
func (m Measure) Known() bool { return m.Missing == "" }

// Float returns the value, or NaN, which is a gap in figures.
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

// Int returns the value of a count, 0 if it is missing.
func (m Measure) Int() int64 { return int64(m.Value) }

// AtLeast reports whether Value is only a lower bound.
func (m Measure) AtLeast() bool { return math.IsInf(m.High, 1) }

// Marked reports whether the measure has a mark.
func (m Measure) Marked(mark string) bool { return slices.Contains(m.Marks, mark) }
