// Package answers states the result of a report's runs in a sentence, and claims no more than they
// support. Each kind of experiment has its own sentence ([Kinds]). Columns are ranked only if they
// agree in the settings that decide a comparison (sets.go), and a winner is named only if package
// compare would name it from the same runs (relation.go). Otherwise the report is only a look:
// figures without a winner.
package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/analyze/table"
)

// Column is one database in a report, with all of its trials.
type Column struct {
	// Name is the column's name in sentences.
	Name string
	// Valid is false if a mark makes any of the column's numbers invalid.
	Valid bool
	Runs  []*run.Run
}

// Answer is the conclusion drawn from the runs.
type Answer struct {
	// Kind is the kind of experiment.
	Kind string `json:"kind"`
	// Sentence answers the experiment's question. It names winners only for the pairs in Claims.
	Sentence string `json:"sentence"`
	// Basis states how many runs there are, and which differences they can detect.
	Basis string `json:"basis"`
	// Look means that there are too few runs to name a winner.
	Look bool `json:"look,omitempty"`
	// Claims are the orders stated in the sentence.
	Claims []Claim `json:"claims"`
	// Varied names the settings that decide a comparison and differ among the columns.
	Varied []string `json:"varied,omitempty"`
}

// Claim orders two columns by one number.
type Claim struct {
	Ahead  string `json:"ahead"`
	Behind string `json:"behind"`
	// Number is the compared number, and Point the part of the load that it describes; "" means all
	// of it.
	Number string `json:"number"`
	Point  string `json:"point,omitempty"`
	// Ratio is the leading column's median divided by the other column's median.
	Ratio float64 `json:"ratio"`
	// P is the probability of such a difference between equal columns. It is the larger of two
	// adjusted probabilities: over all pairs of columns, and over all numbers of this pair.
	P      float64 `json:"p"`
	Trials int     `json:"trials"`
	// Gap is the smallest difference within its 95 % interval, as a share.
	Gap float64 `json:"gap"`
}

// Of returns the answer for a report's columns.
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

// screen makes the sentence for the valid columns.
type screen struct {
	ranking
	own bool // as in kind
}

// kind selects the sentence for a screen. The first kind that applies is used.
type kind struct {
	name    string
	applies func(*screen) bool
	// number is the number by which the columns are compared.
	number number
	say    func(*screen) string
	// own means that the sentence is an ability's, with numbers of its own, and names no winner.
	own bool
}

// kinds lists the kinds of experiment, special ones first.
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

// namesAndRuns returns the names and the runs of the columns.
func (s *screen) namesAndRuns() (names []string, runs [][]*run.Run) {
	for _, c := range s.columns {
		names, runs = append(names, c.Name), append(runs, c.Runs)
	}
	return names, runs
}

// Kinds names the kinds of experiment that have a sentence of their own.
func Kinds() (list []string) {
	for _, k := range kinds() {
		list = append(list, k.name)
	}
	return list
}

// every reports whether has holds for the first run of every column.
func (s *screen) every(has func(*run.Run) bool) bool {
	return !slices.ContainsFunc(s.columns, func(c Column) bool { return !has(c.Runs[0]) })
}

// any reports whether has holds for any run.
func (s *screen) any(has func(*run.Run) bool) bool {
	return slices.ContainsFunc(s.columns, func(c Column) bool { return slices.ContainsFunc(c.Runs, has) })
}

// Measure summarizes a number over a column's runs: the median with its bounds, and the first run's
// number with its marks.
func (c Column) Measure(of func(*run.Run) run.Measure) (trials.Spread, run.Measure) {
	return trials.Group{Name: c.Name, Runs: c.Runs}.Measure(of)
}

// median formats a number's median, or the reason why it is missing.
func (c Column) median(of func(*run.Run) run.Measure, text func(float64) string) string {
	spread, first := c.Measure(of)
	switch {
	case !first.Known() && first.Words != "":
		return first.Words
	case !first.Known():
		return "not measured"
	case first.AtLeast():
		return "over " + text(spread.Median)
	}
	return text(spread.Median)
}

// sentence capitalizes a text and adds a full stop. A column's name at the beginning keeps its
// case.
func (s *screen) sentence(text string) string {
	text = strings.TrimSuffix(text, ".") + "."
	if slices.ContainsFunc(s.columns, func(c Column) bool { return strings.HasPrefix(text, c.Name) }) {
		return text
	}
	return capital(text)
}

// basis states how many runs the answer is based on, and which differences they can detect.
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
