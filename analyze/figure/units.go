package figure

import (
	"math"
	"strconv"
	"strings"
)

// binary tells a unit that is counted in powers of 1024.
func binary(unit string) bool { return unit == "bytes" || unit == "bytes/s" }

// tickTexts are the labels of ticks at these values: all in one notation.
func tickTexts(values []float64, unit string) []string {
	var most float64
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	texts := make([]string, len(values))
	for i, v := range values {
		switch {
		case binary(unit):
			texts[i] = prefixed(v, 1024, 6)
		case most >= 10_000:
			texts[i] = prefixed(v, 1000, 6)
		default:
			texts[i] = grouped(plain(v, 6))
		}
	}
	return texts
}

// valueText is one value with three digits, for print beside a bar.
func valueText(v float64, unit string) string {
	switch {
	case binary(unit):
		return prefixed(v, 1024, 3) + strings.TrimPrefix(unit, "bytes")
	case math.Abs(v) >= 10_000:
		return prefixed(v, 1000, 3)
	case math.Abs(v) >= 1000:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	default:
		return plain(v, 3)
	}
}

// prefixed is v with a prefix of the base: "1.5M", "64 MiB".
func prefixed(v float64, base float64, digits int) string {
	prefixes := []string{"", "k", "M", "G", "T", "P", "E"}
	if base == 1024 {
		prefixes = []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}
	}
	if math.Abs(v) >= 1e21 {
		return plain(v, digits)
	}
	n := 0
	// What rounds up to the base belongs to the next prefix.
	limit := base * (1 - 0.5*math.Pow(10, -float64(digits)))
	for n < len(prefixes)-1 && math.Abs(v) >= limit {
		v /= base
		n++
	}
	if v == 0 {
		return "0"
	}
	return plain(v, digits) + prefixes[n]
}

// plain is v rounded to so many digits, without trailing zeros.
func plain(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	magnitude := int(math.Floor(math.Log10(math.Abs(v))))
	if magnitude >= 7 || magnitude < -4 {
		return strings.Replace(strconv.FormatFloat(v, 'g', digits, 64), "e+", "e", 1)
	}
	text := strconv.FormatFloat(v, 'f', max(0, digits-1-magnitude), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// grouped puts commas between the thousands of a number.
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
