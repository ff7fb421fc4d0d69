package locks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/locks"
)

// outcomes are those of the runs of a database in which contenders competed.
func outcomes(runs []*run.Run) (list []*locks.Outcome) {
	for _, r := range runs {
		if o := outcome(r); o != nil {
			list = append(list, o)
		}
	}
	return list
}

// fewClauses is the number of databases up to which a sentence has more than their times.
const fewClauses = 3

// clause is what a sentence says of a database: the medians of its trials, and what they are of.
type clause struct {
	name    string
	medians []int64 // ns
	what    string
}

// clauses joins what a sentence says of all databases.
func clauses(all []clause, text func(ns int64) string) string {
	var list []string
	for _, c := range all {
		least, most := text(slices.Min(c.medians)), text(slices.Max(c.medians))
		said := c.name + " " + least
		if most != least {
			said += " to " + most
		}
		if len(all) <= fewClauses {
			said += " (" + c.what + ")"
		}
		list = append(list, said)
	}
	return strings.Join(list, ", ")
}

// Say is the sentence about how fast a lock changes hands, or passes from a dead holder. Trials of a
// database have a range.
func (Half) Say(names []string, runs [][]*run.Run) string {
	var hands, passes []clause
	for i, name := range names {
		hand, pass := clause{name: name}, clause{name: name}
		for _, o := range outcomes(runs[i]) {
			if s := fewest(o, func(s *locks.Stage) bool { return s.HandOff != nil }); s != nil && !o.Plan.Elect {
				hand.medians = append(hand.medians, s.HandOff.P50)
				hand.what = fmt.Sprintf("%s; %s between %s, held for %v", how(o, ""), medians(len(hand.medians), count(s.HandOff.N)+" hand-offs"), contenders(s), o.Plan.Hold)
			}
			if s := fewest(o, func(s *locks.Stage) bool { return s.FailOver.Passed != nil }); s != nil {
				pass.medians = append(pass.medians, s.FailOver.Passed.P50)
				pass.what = fmt.Sprintf("%s, TTL %v; %s", how(o, ""), o.TTL, medians(len(pass.medians), count(s.FailOver.Passed.N)))
			}
		}
		if len(hand.medians) > 0 {
			hands = append(hands, hand)
		}
		if len(pass.medians) > 0 {
			passes = append(passes, pass)
		}
	}
	var said []string
	if len(hands) > 0 {
		said = append(said, "A lock changes hands in "+clauses(hands, ms)+".")
	}
	if len(passes) > 0 {
		said = append(said, "The lock of a dead holder passes after "+clauses(passes, longer)+".")
	}
	if len(said) == 0 {
		return "No lock changed hands while somebody waited for it."
	}
	return strings.Join(said, " ")
}

// medians is what the medians of trials are of.
func medians(trials int, one string) string {
	if trials > 1 {
		return fmt.Sprintf("medians of %d trials", trials)
	}
	return "median of " + one
}

// line is a row of the card about a stage.
type line struct {
	name string
	of   func(*locks.Outcome, *locks.Stage) string
}

// lines are those of a stage, the first with the number of contenders before its name.
func lines() []line {
	return []line{
		{"hand-off p50", func(_ *locks.Outcome, s *locks.Stage) string {
			if s.HandOff == nil || !s.HandOff.Enough(.5) {
				return ""
			}
			return fmt.Sprintf("%s (%s)", ms(s.HandOff.P50), count(s.HandOff.N))
		}},
		{"hand-off p99", func(_ *locks.Outcome, s *locks.Stage) string {
			if s.HandOff == nil || !s.HandOff.Enough(.99) {
				return ""
			}
			return ms(s.HandOff.P99)
		}},
		{"fail-over p50", func(_ *locks.Outcome, s *locks.Stage) string {
			if s.FailOver.Passed == nil {
				return ""
			}
			return fmt.Sprintf("%s (%s)", longer(s.FailOver.Passed.P50), count(s.FailOver.Passed.N))
		}},
		{"acquired/s", func(_ *locks.Outcome, s *locks.Stage) string { return fmt.Sprintf("%.1f", s.PerSecond) }},
		{"luckiest / unluckiest", func(_ *locks.Outcome, s *locks.Stage) string {
			if s.Acquired == 0 {
				return ""
			}
			return percent(s.Fairness.Most) + " / " + percent(s.Fairness.Fewest)
		}},
		{"longest wait", func(_ *locks.Outcome, s *locks.Stage) string { return seconds(s.Fairness.LongestWithout) }},
		{"order", func(_ *locks.Outcome, s *locks.Stage) string { return string(s.Fairness.Order) }},
		{"p99 of requests (before)", func(o *locks.Outcome, s *locks.Stage) string {
			if s.Meanwhile == nil || o.Before == nil {
				return ""
			}
			return fmt.Sprintf("%s (%s)", ms(int64(s.Meanwhile.P99)), ms(int64(o.Before.P99)))
		}},
	}
}

// Card is the first screen of loads beside contenders: how fast a lock changed hands, how fairly,
// and whether it was safe.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	all := make([]*locks.Outcome, len(names)) // of the first trials
	var numbers []int
	for i := range names {
		if list := outcomes(runs[i]); len(list) > 0 {
			all[i] = list[0]
			for _, s := range list[0].Stages {
				if !slices.Contains(numbers, s.Contenders) {
					numbers = append(numbers, s.Contenders)
				}
			}
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	card := &abilities.Card{Head: append([]string{"locks"}, names...)}
	for _, n := range numbers {
		card.Rows = append(card.Rows, rowsOf(n, all)...)
	}
	card.Rows = append(card.Rows, row("held twice / fences out of order", all, func(o *locks.Outcome) string {
		sum, _ := o.Safety()
		return count(sum.Overlaps) + " / " + count(sum.Disorder)
	}), row("believed held / lost", all, func(o *locks.Outcome) string {
		sum, _ := o.Safety()
		return count(sum.Believed) + " / " + count(sum.Lost)
	}))
	for i, name := range names {
		if o := all[i]; o != nil {
			card.Notes = append(card.Notes, note(name, o, len(outcomes(runs[i]))))
		}
	}
	return card
}

// rowsOf are the rows of a number of contenders, without those that no database has.
func rowsOf(n int, all []*locks.Outcome) (rows [][]string) {
	for _, l := range lines() {
		cells := row(l.name, all, func(o *locks.Outcome) string {
			i := slices.IndexFunc(o.Stages, func(s locks.Stage) bool { return s.Contenders == n })
			if i < 0 {
				return ""
			}
			return l.of(o, &o.Stages[i])
		})
		if !slices.ContainsFunc(cells[1:], func(text string) bool { return text != "-" }) {
			continue
		}
		if cells[0] = "  " + l.name; len(rows) == 0 {
			cells[0] = contenders(&locks.Stage{Contenders: n}) + ": " + l.name
		}
		rows = append(rows, cells)
	}
	return rows
}

// row is a row of the card. What is not known is a dash.
func row(name string, all []*locks.Outcome, of func(*locks.Outcome) string) []string {
	cells := []string{name}
	for _, o := range all {
		text := ""
		if o != nil {
			text = of(o)
		}
		if text == "" {
			text = "-"
		}
		cells = append(cells, text)
	}
	return cells
}

// note is below the card.
func note(name string, o *locks.Outcome, trials int) string {
	text := fmt.Sprintf("%s: %s, held for %v; %s, TTL %v; contenders wait for %s", name, how(o, o.By), o.Plan.Hold, o.What, o.TTL, o.Waits)
	if o.Plan.Elect {
		text += "; " + rule(o)
	}
	if trials > 1 {
		text += fmt.Sprintf("; the first of %d trials", trials)
	}
	return text
}
