package mark

import (
	"math"
	"slices"
	"strconv"
	"strings"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

func (k Kind) sentence(v Values, w Words) (Sentence, bool) {
	if at := k.form(v, w); at >= 0 {
		return k.Sentences[at], true
	}
	return Sentence{}, false
}

// form returns the index of the sentence that fits, from 0, or -1.
func (k Kind) form(v Values, w Words) int {
	return slices.IndexFunc(k.Sentences, func(s Sentence) bool { return s.fits(v, w) })
}

// fits reports whether a mark has every name the sentence needs.
func (s Sentence) fits(v Values, w Words) bool {
	if len(v)+len(w) == 0 && len(s.needed()) > 0 {
		return false
	}
	return has(s.needed(), v, w)
}

func has(names []string, v Values, w Words) bool {
	for _, name := range names {
		_, value := v[name]
		_, word := w[name]
		if !value && !word {
			return false
		}
	}
	return true
}

// needed returns the names a sentence needs.
func (s Sentence) needed() (list []string) {
	for _, p := range parts(s.Text) {
		if !p.optional {
			list = append(list, holes(p.text)...)
		}
	}
	return list
}

// part is a piece of a sentence.
type part struct {
	text     string
	optional bool
}

// parts cuts a sentence at its brackets.
func parts(text string) (list []part) {
	for text != "" {
		before, rest, found := strings.Cut(text, "[")
		if before != "" {
			list = append(list, part{text: before})
		}
		if !found {
			break
		}
		inside, after, _ := strings.Cut(rest, "]")
		list, text = append(list, part{inside, true}), after
	}
	return list
}

// holes returns the names in a piece.
func holes(text string) (names []string) {
	for {
		_, rest, found := strings.Cut(text, "{")
		if !found {
			return names
		}
		inside, after, _ := strings.Cut(rest, "}")
		name, _, _ := strings.Cut(inside, "|")
		names, text = append(names, name), after
	}
}

// fill puts values and words into a sentence. Inserted text is not interpreted again.
func (s Sentence) fill(v Values, w Words) string {
	var b strings.Builder
	for _, p := range parts(s.Text) {
		if p.optional && !has(holes(p.text), v, w) {
			continue
		}
		for text := p.text; text != ""; {
			before, rest, found := strings.Cut(text, "{")
			b.WriteString(before)
			if !found {
				break
			}
			inside, after, _ := strings.Cut(rest, "}")
			name, noun, _ := strings.Cut(inside, "|")
			b.WriteString(filled(name, noun, v, w))
			text = after
		}
	}
	return b.String()
}

func filled(name, noun string, v Values, w Words) string {
	if word, is := w[name]; is {
		return word
	}
	text := valueText(name, v)
	switch {
	case noun == "":
	case v[name] == 1:
		text += " " + noun
	default:
		text += " " + english.PluralWord(0, noun, "")
	}
	return text
}

// bounds returns the names of values with which shares are compared.
func bounds() []string { return []string{"mark_percent", "invalid_percent", "expected_percent"} }

// valueText formats a value in its unit.
func valueText(name string, v Values) string {
	value, exact := v[name], slices.Contains(given(), name)
	switch {
	case strings.HasSuffix(name, "_percent") && exact:
		return strconv.FormatFloat(value, 'f', -1, 64) + " %"
	case name == "share_percent":
		return beside(value, v) + " %"
	case strings.HasSuffix(name, "_percent"):
		return twoDigits(value) + " %"
	case strings.HasSuffix(name, "_per_second") && exact:
		return humanize.Commaf(value)
	case strings.HasSuffix(name, "_per_second"):
		rounded, _ := strconv.ParseFloat(twoDigits(value), 64) // formatted just before
		return humanize.Commaf(rounded)
	case strings.HasSuffix(name, "_seconds"):
		return Seconds(value)
	case value == math.Trunc(value) && math.Abs(value) < 1e15:
		return humanize.Comma(int64(value))
	}
	return twoDigits(value)
}

// beside formats a share with two digits, or with as many as it needs to stay on the same side of
// its bounds.
func beside(share float64, v Values) string {
	for digits := 2; ; digits++ {
		text := significant(share, digits)
		printed, _ := strconv.ParseFloat(text, 64) // formatted just before
		same := true
		for _, name := range bounds() {
			if bound, given := v[name]; given {
				same = same && (share < bound) == (printed < bound) && (share > bound) == (printed > bound)
			}
		}
		if same || digits == 17 {
			return text
		}
	}
}

func twoDigits(value float64) string { return significant(value, 2) }

// significant formats a number with that many significant digits, without an exponent.
func significant(value float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', digits-1, 64), 64) // formatted just before
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Seconds formats a duration with two significant digits.
func Seconds(seconds float64) string {
	for _, u := range []struct {
		below, factor float64
		unit          string
	}{{1e-3, 1e6, " µs"}, {1, 1e3, " ms"}, {60, 1, " s"}, {3600, 1.0 / 60, " min"}} {
		if math.Abs(seconds) < u.below {
			return twoDigits(seconds*u.factor) + u.unit
		}
	}
	return twoDigits(seconds/3600) + " h"
}

// given returns the names of values that look measured but come from a file or from this program:
// they are printed unrounded.
func given() []string {
	return append(bounds(), "tolerance_percent", "used_percent", "due_per_second", "below_per_second", "above_per_second")
}
