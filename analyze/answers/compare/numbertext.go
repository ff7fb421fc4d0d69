package compare

import (
	"fmt"
	"math"
	"strings"
)

// Percent converts a shift in logarithms to a change in percent.
func Percent(shift float64) float64 { return 100 * math.Expm1(shift) }

// round keeps two significant digits, and all digits in whole numbers.
func round(v float64) float64 {
	if v == 0 || v >= 10 {
		return math.Round(v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

func percentText(v float64) string { return fmt.Sprintf("%.4g %%", v) }

// number formats a value with four significant digits.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func signed(shift float64) string {
	return strings.Replace(fmt.Sprintf("%+.1f %%", Percent(shift)), "-0.0", "+0.0", 1)
}
