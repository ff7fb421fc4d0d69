package figure

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scale maps values on an axis to [0, 1].
type scale struct {
	min, max float64
	// warp makes the scale linear: the identity, or a logarithm.
	warp func(float64) float64
	// has reports whether the scale can represent a value, even outside its ends.
	has   func(float64) bool
	ticks []tick
}

// tick is a position on an axis. Fine ticks have a lighter line and no label.
type tick struct {
	value float64
	label string
	fine  bool
}

// at returns the position for v: 0 at the minimum, 1 at the maximum.
func (s scale) at(v float64) float64 {
	low := s.warp(s.min)
	return (s.warp(v) - low) / (s.warp(s.max) - low)
}

// inside reports whether v lies between the ends.
func (s scale) inside(v float64) bool { return s.has(v) && v >= s.min && v <= s.max }

func identity(v float64) float64 { return v }

// nines is the scale for percentiles: 0 at 0, 1 at 90, 2 at 99, 3 at 99.9.
func nines(percent float64) float64 { return -math.Log1p(-percent/100) / math.Ln10 }

// valueScale returns the scale for measured values: from 0 to a round number if linear, between
// round numbers if logarithmic.
func valueScale(a Axis, values []float64, ticks int) scale {
	if a.Log {
		return logScale(a, values)
	}
	low, high, ok := span(finite, values)
	if !ok {
		low, high = 0, 0
	}
	low, high = min(low, 0), max(high, 0)
	// Some headroom separates the line from the frame.
	headroom := 0.02
	if !apart(low, high) {
		low, high, headroom = 0, 1, 0
	}
	low, high = fixed(a, low, high)
	step := niceStep(a.Unit, (high-low)/float64(ticks))
	if a.Max == nil {
		high = math.Ceil((high+headroom*(high-low))/step-1e-9) * step
	}
	if a.Min == nil {
		low = math.Floor(low/step) * step
	}
	return scale{min: low, max: high, warp: identity, has: finite, ticks: evenTicks(a.Unit, low, high, step)}
}

// rangeScale is the scale for an independent quantity such as time. It ends where the data ends.
func rangeScale(a Axis, values []float64, ticks int) scale {
	low, high, ok := span(finite, values)
	if !ok {
		low, high = 0, 1
	}
	if low > 0 && low <= 0.2*high {
		low = 0
	}
	if only := low; !apart(low, high) && a.Min == nil && a.Max == nil {
		room := max(0.5, 0.05*math.Abs(only))
		return scale{min: low - room, max: high + room, warp: identity, has: finite, ticks: labelled(a.Unit, []float64{only})}
	}
	low, high = fixed(a, low, high)
	step := niceStep(a.Unit, (high-low)/float64(ticks))
	// A 60-second run, counted from 0, ends at second 59.
	if end := math.Ceil(high/step) * step; a.Max == nil && end-high <= 0.025*(high-low) {
		high = end
	}
	return scale{min: low, max: high, warp: identity, has: finite, ticks: evenTicks(a.Unit, low, high, step)}
}

// fixed replaces the ends of the data with those fixed by the axis. An end that is not fixed yields
// to one that is.
func fixed(a Axis, low, high float64) (float64, float64) {
	if a.Min != nil {
		low = *a.Min
	}
	if a.Max != nil {
		high = *a.Max
	}
	if !apart(low, high) {
		room := max(1, math.Abs(low), math.Abs(high))
		switch {
		case a.Log && a.Min != nil:
			high = low * 10
		case a.Log:
			low = high / 10
		case a.Min != nil:
			high = low + room
		default:
			low = high - room
		}
	}
	return low, high
}

// niceStep returns the smallest round step that is at least least: 1, 2 or 5 times a power of ten
// or, for seconds, a fraction of a minute or hour.
func niceStep(unit string, least float64) float64 {
	if unit == "s" || unit == "seconds" {
		for _, step := range []float64{10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400} {
			if least > 5 && step >= least {
				return step
			}
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= least*(1-1e-9) {
			return digit * power
		}
	}
	return 10 * power
}

func evenTicks(unit string, low, high, step float64) []tick {
	var values []float64
	slack := step * 1e-6
	for n := math.Ceil((low - slack) / step); n*step <= high+slack && len(values) < 100; n++ {
		values = append(values, n*step)
	}
	return labelled(unit, values)
}

func labelled(unit string, values []float64) []tick {
	var ticks []tick
	for i, text := range tickTexts(values, unit) {
		ticks = append(ticks, tick{value: values[i], label: text})
	}
	return ticks
}

// logScale extends between two round numbers.
func logScale(a Axis, values []float64) scale {
	low, high, ok := span(positive, values)
	if !ok {
		low, high = 1, 9
	}
	if a.Min == nil {
		low = roundDown(low)
	}
	if a.Max == nil {
		high = roundUp(high * 1.02)
	}
	low, high = fixed(a, low, high)
	return scale{min: low, max: high, warp: math.Log10, has: positive, ticks: logTicks(a.Unit, low, high)}
}

// roundDown returns the largest round number that is at most v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range []float64{5, 2} {
		if digit*power <= v {
			return digit * power
		}
	}
	return power
}

// roundUp returns the smallest round number that is at least v.
func roundUp(v float64) float64 {
	down := roundDown(v)
	if down >= v {
		return down
	}
	return niceStep("", down*1.5)
}

func logTicks(unit string, low, high float64) []tick {
	decades := math.Log10(high / low)
	every := int(math.Ceil(decades / 8))
	var values []float64
	var fine []tick
	for e := int(math.Floor(math.Log10(low))); float64(e) <= math.Log10(high)+1e-9; e++ {
		for digit := 1.0; digit < 10; digit++ {
			v := digit * math.Pow(10, float64(e))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			switch {
			case digit == 1 && e%every == 0, decades <= 2.2 && (digit == 2 || digit == 5):
				values = append(values, v)
			case every == 1:
				fine = append(fine, tick{value: v, fine: true})
			}
		}
	}
	if len(values) < 2 {
		return evenTicks(unit, low, high, niceStep(unit, (high-low)/4))
	}
	return append(fine, labelled(unit, values)...)
}

// percentileScale has a tick at 50 % and at each nine.
func percentileScale(a Axis, values []float64) scale {
	_, high, ok := span(belowHundred, values)
	if !ok {
		high = 99.99
	}
	low, high := fixed(a, 0, max(high, 99))
	ticks := []tick{{value: 0, label: "0%"}, {value: 50, label: "50%"}, {value: 90, label: "90%"}, {value: 99, label: "99%"}}
	for n := 1; n <= 10; n++ {
		text := "99." + strings.Repeat("9", n)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v > high {
			break
		}
		ticks = append(ticks, tick{value: v, label: text + "%"})
	}
	return scale{min: low, max: min(high, 100-1e-9), warp: nines, has: belowHundred, ticks: ticks}
}

// pointScale has a tick at every value if there are few, and room for the markers at both ends.
func pointScale(a Axis, values []float64, ticks int) scale {
	s := rangeScale(a, values, ticks)
	if a.Log {
		low, high, ok := span(positive, values)
		if !ok {
			return logScale(a, values)
		}
		s = scale{warp: math.Log10, has: positive}
		room := max(math.Pow(high/low, 0.04), 1.1)
		s.min, s.max = fixed(a, low/room, high*room)
		s.ticks = logTicks(a.Unit, s.min, s.max)
	} else if a.Max == nil {
		s.max += 0.04 * (s.max - s.min)
	}
	var distinct []float64
	for _, v := range values {
		if s.inside(v) {
			distinct = append(distinct, v)
		}
	}
	slices.Sort(distinct)
	// Chosen values have names or are whole. Measured values do not get ticks.
	measured := func(v float64) bool { return len(a.Names) == 0 && v != math.Trunc(v) }
	if distinct = slices.Compact(distinct); len(distinct) > 0 && len(distinct) <= 12 && !slices.ContainsFunc(distinct, measured) {
		s.ticks = labelled(a.Unit, distinct)
	}
	for i, t := range s.ticks {
		if name, ok := a.Names[t.value]; ok {
			s.ticks[i].label = name
		}
	}
	return s
}
