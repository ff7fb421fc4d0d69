// Package mark declares every mark: what a reader must know to use the numbers of a run. A
// record holds a mark's code and the values that it is about; its sentence is made of them
// where it is read.
package mark

import "slices"

// Weight is what a mark does to the numbers beside it. A mark that a record calls invalid
// is so whatever its weight.
type Weight string

// The weights.
const (
	Invalid  Weight = "invalid"  // always: the numbers must not be used
	Weakens  Weight = "weakens"  // the numbers may be further from the truth than they seem
	Harmless Weight = "harmless" // good to know
)

// Values are the numbers of a mark by their names, which end in their units: _percent,
// _seconds, _per_second; a name without one is a count.
type Values map[string]float64

// Words are the texts of a mark by their names: addresses, reasons, names.
type Words map[string]string

// Kind declares the marks of one code.
type Kind struct {
	// Code is a short stable word.
	Code   string
	Weight Weight
	// Foremost marks are the first thing that readers see of a report.
	Foremost bool
	// Sentences are what such marks say, in the notation of [Kind.Text]. The first one whose
	// values and words a mark has is its.
	Sentences []Sentence
	// Help is what the mark means, and Remedy what to do, both in Markdown without a full
	// stop.
	Help, Remedy string
}

// Sentence is one of the things that marks of a code say.
type Sentence struct {
	Text string
	// Worst is the value by which the worst of several such marks is found: the one that has
	// most of it, or least if Least is set. It is "" if none is worse than another.
	Worst string
	Least bool
	// Effect is what such a mark can change in the numbers that are compared; nil is
	// [Unknown] of both.
	Effect func(Values) Effect
}

// Kinds lists every mark. Their order is that of the documentation.
func Kinds() []Kind {
	return slices.Concat(clientMarks(), outcomeMarks(), integrityMarks(), sessionMarks(), lockMarks(), watchMarks(), serverMarks(), faultMarks(), accessMarks(), machineMarks(), levelMarks(), recordMarks())
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
