package figure

import (
	"math"
	"strconv"
	"strings"
)

// inBytes reports whether a unit uses kB, MB and so on at all sizes.
func inBytes(unit string) bool { return unit == "bytes" || unit == "bytes/s" }

// tickTexts returns tick labels in a uniform notation.
func tickTexts(values []float64, unit string) []string {
	var most float64
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	texts := make([]string, len(values))
	for i, v := range values {
		switch {
		case inBytes(unit):
			texts[i] = prefixed(v, bytePrefixes(), shortest)
		case most >= 10_000:
			texts[i] = prefixed(v, prefixes(), shortest)
		default:
			texts[i] = grouped(shortest(v))
		}
	}
	return texts
}

// valueText formats a value with three digits, for printing next to a bar.
func valueText(v float64, unit string) string {
	switch {
	case inBytes(unit):
		return prefixed(v, bytePrefixes(), threeDigits) + strings.TrimPrefix(unit, "bytes")
	case math.Abs(v) >= 10_000:
		return prefixed(v, prefixes(), threeDigits)
	case math.Abs(v) >= 1000:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	default:
		return threeDigits(v)
	}
}

func prefixes() []string { return []string{"", "k", "M", "G", "T", "P", "E"} }

// bytePrefixes are for powers of 1000, as in the table of a report.
func bytePrefixes() []string { return []string{" B", " kB", " MB", " GB", " TB", " PB", " EB"} }

// prefixed formats v with a prefix for a power of 1000: "1.5M", "64 MB".
func prefixed(v float64, prefixes []string, digits func(float64) string) string {
	const base = 1000
	if v == 0 || math.Abs(v) >= 1e21 {
		return digits(v)
	}
	n := 0
	// A number that rounds up to the base gets the next prefix.
	for n < len(prefixes)-1 && math.Abs(v) >= base-0.5 {
		v /= base
		n++
	}
	return digits(v) + prefixes[n]
}

// shortest formats v with up to six digits, without trailing zeros.
func shortest(v float64) string {
	text := significant(v, 6)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// threeDigits rounds v to three digits. An integer keeps all digits.
func threeDigits(v float64) string {
	if v == math.Trunc(v) {
		return shortest(v)
	}
	return significant(v, 3)
}

// significant formats v with a number of significant digits.
func significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	// Take the exponent after rounding: 0.9999 becomes 1.00.
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	magnitude, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa // NaN or infinite
	}
	if magnitude < 7 && magnitude >= -4 {
		return strconv.FormatFloat(v, 'f', max(0, digits-1-magnitude), 64)
	}
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + "e" + strconv.Itoa(magnitude)
}

// grouped inserts thousands separators (commas).
func grouped(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Contains(text, "e") {
		return text
	}
	start := 0
	if strings.HasPrefix(whole, "-") {
		start = 1
	}
	for i := len(whole) - 3; i > start; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}
