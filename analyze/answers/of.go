package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// Of returns the answer for the columns.
func Of(columns []Column) *Answer {
	a := &Answer{Claims: []Claim{}}
	valid := slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return !c.Valid })
	if len(valid) == 0 {
		a.Kind = "none"
		a.Sentence = notCompared(columns, "Nothing can be compared: ")
		return a
	}
	s := &screen{ranking: ranking{columns: valid, sets: setsOf(valid), claims: []Claim{}}}
	for _, k := range kinds() {
		if k.applies(s) {
			a.Kind, s.number, s.own = k.name, k.number, k.own
			a.Sentence = s.sentence(k.say(s))
			break
		}
	}
	a.Varied, a.Claims = s.varied(), s.claims
	a.Basis, a.Look = s.basis(), s.look()
	if twins := s.twins(); twins != "" {
		a.Basis = strings.TrimSpace(a.Basis + " " + twins)
	}
	if len(valid) < len(columns) {
		a.Sentence += " " + notCompared(columns, "Not compared: ")
	}
	return a
}

// notCompared names the invalid columns.
func notCompared(columns []Column, begin string) string {
	var out []string
	for _, c := range columns {
		if !c.Valid {
			out = append(out, c.Name)
		}
	}
	out = run.Distinct(out)
	if len(out) == 1 {
		return begin + out[0] + " is not valid."
	}
	return begin + names(out) + " are not valid."
}

// kinds lists the experiment kinds, special ones first.
func kinds() []kind {
	var list []kind
	for _, rate := range all.Sought() {
		list = append(list, kind{rate.Name, func(s *screen) bool { return s.any(rate.By) }, soughtNumber(rate), sought(rate), false})
	}
	list = append(list, []kind{
		{"server lost", (*screen).lostServer, pauseNumber(), (*screen).sayPauses, false},
		{"refused", (*screen).refused, throughputNumber(), (*screen).sayRefused, false},
		{"parts", (*screen).mixedParts, throughputNumber(), (*screen).sayParts, false},
	}...)
	var others []kind
	for _, half := range all.Halves() {
		if a, ok := half.(abilities.Actor); ok {
			say, own := sayer(a)
			one := kind{a.Name(), func(s *screen) bool { return s.any(a.Acted) }, throughputNumber(), say, own}
			if own {
				list = append(list, one)
			} else {
				others = append(others, one)
			}
		}
	}
	list = append(list, others...) // next to dead clients, a compaction is no news
	return append(list, []kind{
		{"varied", (*screen).differs, throughputNumber(), (*screen).sayVaried, false},
		{"steps", (*screen).staged, throughputNumber(), (*screen).saySteps, false},
		{"rate", (*screen).rated, p99Number(), (*screen).sayRate, false},
		{"closed loop", func(*screen) bool { return true }, throughputNumber(), (*screen).sayClosed, false},
	}...)
}

// sayer returns the function for the sentence about an ability: its own if it has one.
func sayer(a abilities.Actor) (say func(*screen) string, own bool) {
	sentence, own := a.(abilities.Sayer)
	if !own {
		return (*screen).sayActed, false
	}
	return func(s *screen) string { return sentence.Say(s.namesAndRuns()) }, true
}

// sought states which rates were found, and the orders that they show.
func sought(rate abilities.Sought) func(*screen) string {
	return func(s *screen) string {
		names, runs := s.namesAndRuns()
		return rate.Say(names, runs, s.requests(), func(claim func(ahead, ratio, behind string) string) string {
			return s.told(s.all(), func(c Claim) string { return claim(c.Ahead, table.Ratio(c.Ratio), c.Behind) })
		})
	}
}

// sentence capitalizes a text and adds a full stop. A column name at the beginning keeps its case.
func (s *screen) sentence(text string) string {
	text = strings.TrimSuffix(text, ".") + "."
	if slices.ContainsFunc(s.columns, func(c Column) bool { return strings.HasPrefix(text, c.Name) }) {
		return text
	}
	return capital(text)
}

// basis states the number of runs behind the answer, and which differences they can detect.
func (s *screen) basis() string {
	least, most := s.trials()
	switch {
	case most == 1 && len(s.columns) == 1:
		return ""
	case len(s.columns) == 1:
		return fmt.Sprintf("The median of %d trials.", most)
	case most == 1:
		return "One run of each is too few to name a winner."
	}
	count := fmt.Sprintf("%d trials", least)
	if least < most {
		count = fmt.Sprintf("%d to %d trials", least, most)
	}
	if s.own {
		return "Medians of " + count + " of each; no winner is named."
	}
	s.relate()
	switch f := s.family(); {
	case f.Columns < 2:
		return "Medians of " + count + " of each."
	case least < f.Least():
		return fmt.Sprintf("Medians of %s of each; at least %d are needed to name a winner.", count, f.Least())
	}
	return "Medians of " + count + " of each; " + s.reach(least) + "."
}

// kind selects the sentence for a screen. The first kind that applies is used.
type kind struct {
	name    string
	applies func(*screen) bool
	// number is the number by which the columns are compared.
	number number
	say    func(*screen) string
	// own means that the sentence is an ability's, with its own numbers, and names no winner.
	own bool
}
