// Package mark declares every mark: a fact that readers must know about the numbers in a run. A
// record has the code and the values for a mark; whoever reads the record makes the sentence from
// them.
package mark

// Weight is the meaning of a mark for the numbers it qualifies. A mark that a record calls invalid
// is invalid whatever its weight.
type Weight string

// The weights.
const (
	Invalid  Weight = "invalid"  // always: the numbers must not be used
	Weakens  Weight = "weakens"  // the numbers may be further from the truth than they seem
	Harmless Weight = "harmless" // good to know
)

// Values are the numbers in a mark by name. Names end in the unit: _percent, _seconds, _per_second;
// a name without a unit is a count.
type Values map[string]float64

// Words are the texts in a mark by name: addresses, reasons, names.
type Words map[string]string

// Kind declares the marks with one code.
type Kind struct {
	// Code is a short stable word.
	Code   string
	Weight Weight
	// Foremost marks are the first thing that report readers see.
	Foremost bool
	// Sentences are the texts for such marks, written as [Text] explains. A mark has the first
	// sentence whose values and words it has.
	Sentences []Sentence
	// Help explains the mark, and Remedy advises, both in Markdown without a full stop.
	Help, Remedy string
}

// Sentence is one text for marks with a code.
type Sentence struct {
	Text string
	// Worst names the value that determines the worst of several such marks: the mark with the
	// largest value, or the smallest if Least is set. If it is "", they are equally bad.
	Worst string
	Least bool
	// Effect returns how such a mark affects the compared numbers; nil means [Unknown] for both.
	Effect func(Values) Effect
}

// Effect bounds how far a doubt can change a number: the number, and the largest share of it. A nil
// share is unknown.
type Effect struct {
	Number Number   `json:"number" doc:"the number that the doubt can change: throughput, latency, both or none"`
	Share  *float64 `json:"share" doc:"the largest part of it that the doubt can change, 0.1 is a tenth; null if that is not known"`
}

// Number names a number by which runs are compared.
type Number string

// The numbers.
const (
	None       Number = "none"
	Throughput Number = "throughput"
	Latency    Number = "latency"
	Both       Number = "both"
)
