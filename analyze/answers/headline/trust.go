package headline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/mark"
)

// Level states how far the numbers can be trusted.
type Level string

const (
	Sound    Level = "nothing was found that weakens these numbers"
	Weakened Level = "read these numbers with the reasons below"
	NotValid Level = "NOT VALID"
)

// Trust states whether the numbers can be relied on, with the reasons for doubt.
type Trust struct {
	Level Level `json:"level"`
	// Text states the level in one sentence, with the codes of the reasons.
	Text string `json:"text"`
	// Reasons are the marks, starting with those that make numbers invalid.
	Reasons []Reason `json:"reasons"`
}

// Reason is one mark on one or more columns. Marks that differ only in their values are a single
// reason, with the text of the worst.
type Reason struct {
	Code string `json:"code"`
	// Of has the column names; empty means the whole report.
	Of      []string `json:"of"`
	Invalid bool     `json:"invalid,omitempty"`
	// Weakens is false if a mark is only informative.
	Weakens bool   `json:"weakens"`
	Text    string `json:"text"`
	// Runs counts the runs that have the mark.
	Runs int `json:"runs"`
	// Marks counts the joined marks, from steps, members or runs.
	Marks int `json:"marks"`
	// Effect is the largest change in the compared numbers that the joined marks allow.
	Effect mark.Effect `json:"effect"`
}

// String formats the reason as one line.
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
		t.Text = "NOT VALID: do not use the numbers of " + strings.Join(run.Distinct(invalid), ", ") + "."
	case len(codes) > 0:
		t.Level = Weakened
		t.Text = "valid, but weakened: " + strings.Join(run.Distinct(codes), ", ") + "."
	}
	return t
}

// statement identifies marks that form one reason: they state the same thing apart from their
// values. Marks in older records have no values and are grouped by code.
type statement struct {
	code    string
	form    int
	invalid bool
	// words is set for marks that cannot be compared by severity.
	words string
}

// unvalued is the form for marks in older records.
const unvalued = -2

func statementOf(m run.Mark) statement {
	a := statement{code: m.Code, form: unvalued, invalid: m.Invalid}
	if len(m.Values)+len(m.Words) == 0 {
		return a
	}
	a.form = mark.Form(m.Code, m.Values, m.Words)
	if !mark.Ranked(m.Code, a.form) {
		for _, name := range slices.Sorted(maps.Keys(m.Words)) {
			a.words += fmt.Sprintf("%s: %q; ", name, m.Words[name])
		}
	}
	return a
}

// merged joins marks that make the same statement.
func merged(marks []run.Mark, names map[string]string) (reasons []Reason) {
	for _, j := range run.JoinMarks(marks, statementOf) {
		reasons = append(reasons, reasonOf(j, names))
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return rank(a) - rank(b) })
	return reasons
}

// reasonOf returns the reason for joined marks. It refers to runs by their column names.
func reasonOf(j run.Joined[statement], names map[string]string) Reason {
	a := j.By
	declared, _ := mark.Of(a.code)
	r := Reason{Code: a.code, Of: []string{}, Invalid: a.invalid, Weakens: declared.Weight != mark.Harmless, Marks: len(j.Marks)}
	name := func(tag string) string { return cmp.Or(names[tag], tag) }
	var tags, texts []string
	for i, m := range j.Marks {
		tags, texts = append(tags, m.Tag), append(texts, m.Mark.Text)
		if of := name(m.Tag); of != "" && !slices.Contains(r.Of, of) {
			r.Of = append(r.Of, of)
		}
		effect := mark.EffectOf(m.Code, m.Values, m.Words)
		if i == 0 {
			r.Effect = effect
		} else {
			r.Effect = r.Effect.Wider(effect)
		}
	}
	r.Runs, r.Text = len(run.Distinct(tags)), texts[0]
	switch {
	case len(run.Distinct(texts)) == 1:
	case mark.Ranked(a.code, a.form):
		r.Text = fmt.Sprintf("%s; the worst of %d", j.Worst.Mark.Text, len(j.Marks))
		if len(r.Of) > 1 {
			r.Text += ", of " + name(j.Worst.Tag)
		}
	default:
		r.Text += fmt.Sprintf("; and %d more", len(j.Marks)-1)
	}
	return r
}

// rank orders reasons by weight.
func rank(r Reason) int {
	switch {
	case r.Invalid:
		return 0
	case r.Weakens:
		return 1
	}
	return 2
}
