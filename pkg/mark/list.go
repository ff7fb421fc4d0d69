package mark

import (
	"slices"
	"strings"
)

// Kinds lists every mark in the documentation's order.
func Kinds() []Kind {
	return slices.Concat(clientMarks(), outcomeMarks(), integrityMarks(), sessionMarks(), lockMarks(), watchMarks(), discoveryMarks(), serverMarks(), faultMarks(), accessMarks(), machineMarks(), levelMarks(), recordMarks())
}

// Of returns the declaration of a code.
func Of(code string) (k Kind, declared bool) {
	kinds := Kinds()
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Code == code })
	if at < 0 {
		return Kind{Code: code, Weight: Weakens}, false
	}
	return kinds[at], true
}

// EffectOf returns the effect of a mark. Without values, the first sentence for the code decides.
func EffectOf(code string, v Values, w Words) Effect {
	k, _ := Of(code)
	s, known := k.sentence(v, w)
	if !known && len(k.Sentences) > 0 {
		s = k.Sentences[0]
	}
	if s.Effect == nil {
		return Unknown(Both)
	}
	return s.Effect(v)
}

// Text returns the sentence for a mark, "" if the code is not declared or no sentence fits. In a
// declared sentence {name} is a value or a word, and {name|noun} is a count with its noun. A part
// in brackets is omitted if a name in it is not given. Measured values have two significant digits,
// counts have all.
func Text(code string, v Values, w Words) string {
	k, _ := Of(code)
	s, known := k.sentence(v, w)
	if !known {
		return ""
	}
	return strings.TrimSpace(s.fill(v, w))
}

// Form returns the sentence index of a mark, from 0; -1 if no sentence fits. Marks with one code
// are alike if they have the same form.
func Form(code string, v Values, w Words) int {
	k, _ := Of(code)
	return k.form(v, w)
}

// Ranked reports whether among several marks with a code and form one can be worse than another.
func Ranked(code string, form int) bool {
	k, _ := Of(code)
	return form >= 0 && form < len(k.Sentences) && k.Sentences[form].Worst != ""
}

// Worse reports whether the second of two marks with a code and form is worse than the first.
func Worse(code string, form int, a, b Values) bool {
	if !Ranked(code, form) {
		return false
	}
	k, _ := Of(code)
	s := k.Sentences[form]
	if x, y := a[s.Worst], b[s.Worst]; s.Least {
		return y < x
	} else {
		return y > x
	}
}
