package headline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/trials"
	"github.com/coreos/dbtester/pkg/results"
)

// Level is how far the numbers of a report can be trusted.
type Level string

// The levels.
const (
	Sound    Level = "nothing was found that weakens these numbers"
	Weakened Level = "read these numbers with the reasons below"
	NotValid Level = "NOT VALID"
)

// Trust is how far to trust a report, and why no further.
type Trust struct {
	Level Level `json:"level"`
	// Text is the level in one sentence.
	Text string `json:"text"`
	// Reasons are the marks of the report: those that make numbers invalid first, near-
	// identical ones merged.
	Reasons []Reason `json:"reasons"`
}

// Reason is one mark of one or more columns. Where marks of several runs differ in
// numbers alone, Text has the least and the most of each number.
type Reason struct {
	Code string `json:"code"`
	// Of are the names of the columns, empty for the whole report.
	Of      []string `json:"of"`
	Invalid bool     `json:"invalid,omitempty"`
	// Weakens is false for a mark that is only good to know.
	Weakens bool   `json:"weakens"`
	Text    string `json:"text"`
	// Runs counts the runs that have the mark.
	Runs int `json:"runs"`
}

// harmless are the codes of marks that do not weaken a number.
var harmless = []string{results.MarkExpected, results.MarkNotUploaded, results.MarkNotProfiled, results.MarkSecured}

// String is the reason in one line.
func (r Reason) String() string {
	s := r.Code + ": " + r.Text
	if r.Invalid {
		s = "INVALID " + s
	}
	if len(r.Of) > 0 {
		s = strings.Join(r.Of, ", ") + ": " + s
	}
	return s
}

func trustOf(groups []trials.Group, marks []run.Mark) Trust {
	t := Trust{Level: Sound, Reasons: merged(marks, trials.Names(groups))}
	var invalid []string
	var codes []string
	for _, r := range t.Reasons {
		switch {
		case r.Invalid && len(r.Of) == 0:
			invalid = append(invalid, "the whole run")
		case r.Invalid:
			invalid = append(invalid, r.Of...)
		case r.Weakens:
			codes = append(codes, r.Code)
		}
	}
	t.Text = string(Sound) + "."
	switch {
	case len(invalid) > 0:
		t.Level = NotValid
		t.Text = "NOT VALID: do not use the numbers of " + strings.Join(run.Distinct(invalid), ", ") + "; the lines marked INVALID say why."
	case len(codes) > 0:
		t.Level = Weakened
		t.Text = "valid, but weakened: " + strings.Join(run.Distinct(codes), ", ") + "; the reasons follow."
	}
	return t
}

// numbers match the parts of a mark's text in which the marks of two runs may differ.
// A time of day is one part, and so is a length of time.
var numbers = regexp.MustCompile(`(?:[0-9]+h)?(?:[0-9]+m)?[0-9]+(?:\.[0-9]+)?(?:s|ms|µs|us|ns)\b|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?|[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?`)

// nouns match a number of a skeleton with the noun of what it counts, which has an s after
// any number but one.
var nouns = regexp.MustCompile(`\b0 ([a-z]{3,}?)s?\b`)

// merged joins marks of one code whose texts differ in numbers alone.
func merged(marks []run.Mark, names map[string]string) (reasons []Reason) {
	type kind struct {
		code, skeleton string
		invalid        bool
	}
	var order []kind
	texts, tags := map[kind][]string{}, map[kind][]string{}
	for _, m := range marks {
		k := kind{m.Code, nouns.ReplaceAllString(numbers.ReplaceAllString(m.Mark.Text, "0"), "0 $1"), m.Invalid}
		if texts[k] == nil {
			order = append(order, k)
		}
		texts[k] = append(texts[k], m.Mark.Text)
		tags[k] = append(tags[k], m.Tag)
	}
	for _, k := range order {
		r := Reason{Code: k.code, Invalid: k.invalid, Weakens: !slices.Contains(harmless, k.code), Text: mergedText(texts[k]), Runs: len(run.Distinct(tags[k]))}
		r.Of = []string{}
		for _, tag := range tags[k] {
			if name := names[tag]; name != "" {
				tag = name
			}
			if tag != "" && !slices.Contains(r.Of, tag) {
				r.Of = append(r.Of, tag)
			}
		}
		reasons = append(reasons, r)
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return rank(a) - rank(b) })
	return reasons
}

// rank orders reasons by their weight.
func rank(r Reason) int {
	switch {
	case r.Invalid:
		return 0
	case r.Weakens:
		return 1
	}
	return 2
}

// mergedText returns a text whose numbers are those of all texts: "3", or "3..5".
func mergedText(texts []string) string {
	found := make([][]string, len(texts))
	for i, text := range texts {
		found[i] = numbers.FindAllString(text, -1)
	}
	words := func(text string) int { return len(numbers.ReplaceAllString(text, "0")) }
	// The longest has the plurals.
	longest := slices.MaxFunc(texts, func(a, b string) int { return words(a) - words(b) })
	at := -1
	return numbers.ReplaceAllStringFunc(longest, func(first string) string {
		at++
		least, most := first, first
		for _, list := range found {
			if at >= len(list) {
				continue
			}
			if less(list[at], least) {
				least = list[at]
			}
			if less(most, list[at]) {
				most = list[at]
			}
		}
		if least == most {
			return first
		}
		return least + ".." + most
	})
}

// less compares two numbers, two lengths of time, or two times of day.
func less(a, b string) bool {
	if strings.Contains(a, ":") || strings.Contains(b, ":") {
		return a < b
	}
	return valueOf(a) < valueOf(b)
}

func valueOf(number string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil {
		length, _ := time.ParseDuration(number) // the expression matches nothing else
		return float64(length)
	}
	return v
}
