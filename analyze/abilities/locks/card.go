package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/results"
)

// outcomes returns the outcomes from the runs of a database in which contenders competed.
func outcomes(runs []*run.Run) (list []*locks.Outcome) {
	for _, r := range runs {
		if o := outcome(r); o != nil {
			list = append(list, o)
		}
	}
	return list
}

// allOutcomes returns the outcomes for all databases.
func allOutcomes(runs [][]*run.Run) (list []*locks.Outcome) {
	for _, of := range runs {
		list = append(list, outcomes(of)...)
	}
	return list
}

// fewClauses is the database count up to which a sentence has more than their times.
const fewClauses = 3

// clause is the part of a sentence about one database: a number for each trial, the way to acquire
// its locks, and the measured quantity.
type clause struct {
	name      string
	numbers   []int64 // ns
	how, what string
}

// clauses joins the clauses for all databases after some words. A quantity that all share is
// written once. With many databases, the sentence has only the numbers and their kind.
func clauses(begin, in, are string, all []clause, text func(ns int64) string) string {
	few := len(all) <= fewClauses
	alike := few && !slices.ContainsFunc(all, func(c clause) bool { return c.what != all[0].what })
	switch {
	case alike:
		begin += " (" + all[0].what + ")"
	case !few:
		begin += " (" + are + ")"
	}
	var list []string
	for _, c := range all {
		said := c.name + " " + run.RangeText(c.numbers, text)
		switch {
		case alike:
			said += " (" + c.how + ")"
		case few:
			said += " (" + c.how + "; " + c.what + ")"
		}
		list = append(list, said)
	}
	return begin + " " + in + " " + strings.Join(list, ", ") + "."
}

// Say is the sentence about the time in which a lock changes hands, or passes from a dead holder. A
// database's trials are given as a range.
func (Half) Say(names []string, runs [][]*run.Run) string {
	if list := allByHold(names, runs); len(list) > 0 {
		return sayByHold(list)
	}
	t := typicalOf(allOutcomes(runs))
	var hands, passes []clause
	for i, name := range names {
		hand, pass := clause{name: name}, clause{name: name}
		for _, o := range outcomes(runs[i]) {
			if s := fewest(o, handedOver); s != nil && !o.Plan.Elect {
				hand.numbers = append(hand.numbers, t.of(s.HandOff))
				hand.how, hand.what = how(o, ""), fmt.Sprintf("%s between %s, held for %v", ofTrials(t.word, len(hand.numbers), count(s.HandOff.N)+" hand-offs"), contenders(s), o.Plan.Hold)
			}
			if s := fewest(o, func(s *locks.Stage) bool { return s.FailOver.Passed != nil }); s != nil {
				pass.numbers = append(pass.numbers, s.FailOver.Passed.P50)
				pass.how, pass.what = fmt.Sprintf("%s, TTL %v", how(o, ""), o.TTL), ofTrials("median", len(pass.numbers), count(s.FailOver.Passed.N))
			}
		}
		if len(hand.numbers) > 0 {
			hands = append(hands, hand)
		}
		if len(pass.numbers) > 0 {
			passes = append(passes, pass)
		}
	}
	var said []string
	if len(hands) > 0 {
		said = append(said, clauses("A lock changes hands", "in", t.word, hands, ms))
	}
	if len(passes) > 0 {
		said = append(said, clauses("The lock of a dead holder passes", "after", "median", passes, longer))
	}
	if text := shared(names, runs); text != "" {
		said = append(said, text)
	}
	if len(said) == 0 {
		return "No lock changed hands while somebody waited for it."
	}
	return strings.Join(said, " ")
}

// The fewest contenders, and the fewest turns per contender at equal shares, for which the sentence
// states how turns were shared.
const (
	severalContenders = 3
	severalTurns      = 10
)

// shared returns the sentence about the turns of the unluckiest and the luckiest contender in all
// trials, with the most contenders; "" if there is nothing to state.
func shared(names []string, runs [][]*run.Run) string {
	number := 0
	for i := range names {
		for _, o := range outcomes(runs[i]) {
			number = max(number, slices.Max(o.Plan.Contenders))
		}
	}
	if number < severalContenders {
		return ""
	}
	var parts []string
	for i, name := range names {
		fewest, most, some := 1.0, 0.0, false
		for _, o := range outcomes(runs[i]) {
			s := stageOf(o, number)
			if s == nil || o.Plan.Elect || s.Acquired < int64(severalTurns*number*o.Plan.Names) {
				continue
			}
			fewest, most, some = min(fewest, s.Fairness.Fewest), max(most, s.Fairness.Most), true
		}
		if some {
			parts = append(parts, fmt.Sprintf("%s %s to %s", name, percent(fewest), percent(most)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d contenders each had of all turns: %s.", number, strings.Join(parts, ", "))
}

// line is a row on the card about a stage.
type line struct {
	name string
	// of returns the numbers for a trial, or nil. text formats each. count, if not nil, counts the
	// times behind them.
	of   func(*locks.Outcome, *locks.Stage) []float64
	text func(float64) string
	// middle means that several trials show only their median.
	middle bool
	count  func(*locks.Stage) int64
	// say, in place of all these, is the cell on the line.
	say func(trials []*locks.Outcome, contenders int) string
}

// handOffLines returns the lines about hand-offs. The typical number is first and has their count.
func handOffLines(t typical) []line {
	number := func(name string, q float64, of func(*results.Spread) int64) line {
		return line{name: "hand-off " + name, of: func(_ *locks.Outcome, s *locks.Stage) []float64 {
			if s.HandOff == nil || !enough(s.HandOff, q) {
				return nil
			}
			return []float64{float64(of(s.HandOff))}
		}, text: func(ns float64) string { return ms(int64(ns)) }}
	}
	list := []line{number(t.name, t.q, t.of)}
	list[0].count = func(s *locks.Stage) int64 { return s.HandOff.N }
	if t.q == 0 {
		list = append(list, number("p50", .5, func(s *results.Spread) int64 { return s.P50 }))
	}
	return append(list, number("p99", .99, func(s *results.Spread) int64 { return s.P99 }))
}

// lines returns the lines for a stage. The contender count precedes the name of the first.
func lines(t typical) []line {
	return append(handOffLines(t), []line{
		{name: "fail-over p50", of: func(_ *locks.Outcome, s *locks.Stage) []float64 {
			if s.FailOver.Passed == nil {
				return nil
			}
			return []float64{float64(s.FailOver.Passed.P50)}
		}, text: func(ns float64) string { return longer(int64(ns)) }, count: func(s *locks.Stage) int64 { return s.FailOver.Passed.N }},
		{name: "acquired/s", of: func(_ *locks.Outcome, s *locks.Stage) []float64 { return []float64{s.PerSecond} }, text: func(n float64) string { return fmt.Sprintf("%.1f", n) }},
		{name: "luckiest / unluckiest", of: func(_ *locks.Outcome, s *locks.Stage) []float64 {
			if s.Acquired == 0 {
				return nil
			}
			return []float64{s.Fairness.Most, s.Fairness.Fewest}
		}, text: percent},
		{name: "order", say: orderIn},
		{name: "longest wait", of: func(_ *locks.Outcome, s *locks.Stage) []float64 {
			return []float64{s.Fairness.LongestWithout.Seconds()}
		}, text: func(n float64) string { return fmt.Sprintf("%.3f s", n) }},
		{name: "p99 of requests / before", of: func(o *locks.Outcome, s *locks.Stage) []float64 {
			if s.Meanwhile == nil || o.Before == nil {
				return nil
			}
			return []float64{float64(s.Meanwhile.P99), float64(o.Before.P99)}
		}, text: func(ns float64) string { return ms(int64(ns)) }, middle: true},
	}...)
}

// cell formats the numbers from the trials of a database at a contender count; "" without numbers.
func (l line) cell(trials []*locks.Outcome, contenders int) string {
	if l.say != nil {
		return l.say(trials, contenders)
	}
	var numbers [][]float64 // one slice for each trial
	times := int64(0)
	for _, o := range trials {
		if s := stageOf(o, contenders); s != nil {
			if n := l.of(o, s); n != nil {
				numbers = append(numbers, n)
				if l.count != nil {
					times += l.count(s)
				}
			}
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	var parts, units []string
	for i := range numbers[0] {
		all := make([]float64, len(numbers))
		for n := range numbers {
			all[n] = numbers[n][i]
		}
		part, unit := l.median(all)
		parts, units = append(parts, part), append(units, unit)
	}
	if units[0] == units[len(units)-1] { // it stands once
		for i := range parts {
			parts[i] = strings.TrimSuffix(parts[i], units[0])
		}
		parts[len(parts)-1] += units[0]
	}
	text := strings.Join(parts, " / ")
	if l.count != nil {
		text += fmt.Sprintf(", n %s", count(times))
	}
	return text
}

// median formats the middle of the numbers, followed by their range unless all are equal or the
// line leaves it out, and returns the unit.
func (l line) median(all []float64) (text, unit string) {
	number := func(n float64) string {
		is, _, _ := strings.Cut(l.text(n), " ")
		return is
	}
	middle := trials.SpreadOf(all).Median
	if _, after, ok := strings.Cut(l.text(middle), " "); ok {
		unit = " " + after
	}
	least, most := number(slices.Min(all)), number(slices.Max(all))
	if least == most || l.middle {
		return number(middle) + unit, unit
	}
	return fmt.Sprintf("%s (%s..%s)%s", number(middle), least, most, unit), unit
}

// stageOf returns the first stage with this contender count, or nil.
func stageOf(o *locks.Outcome, contenders int) *locks.Stage {
	i := slices.IndexFunc(o.Stages, func(s locks.Stage) bool { return s.Contenders == contenders })
	if i < 0 {
		return nil
	}
	return &o.Stages[i]
}

// orderIn is the order at a contender count. If trials differ, it counts those with each order.
func orderIn(trials []*locks.Outcome, contenders int) string {
	var said []string
	counts := map[locks.Order]int{}
	for _, o := range trials {
		if s := stageOf(o, contenders); s != nil {
			counts[s.Fairness.Order]++
		}
	}
	for _, is := range []locks.Order{locks.Queue, locks.Race, locks.Undecided} {
		if n := counts[is]; n > 0 && len(counts) > 1 {
			said = append(said, fmt.Sprintf("%s in %d", is, n))
		} else if n > 0 {
			said = append(said, string(is))
		}
	}
	return strings.Join(said, ", ")
}

// Card is the first screen for loads with contenders: the speed, fairness and safety of hand-offs.
// A database's trials have their medians. Databases that differ in the hold time have a row for
// each such time.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	if list := allByHold(names, runs); len(list) > 0 {
		return cardByHold(list)
	}
	all := make([][]*locks.Outcome, len(names))
	var numbers []int
	for i := range names {
		all[i] = outcomes(runs[i])
		for _, o := range all[i] {
			for _, s := range o.Stages {
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
	if len(numbers) == 1 { // then no row is a detail
		for _, cells := range card.Rows {
			cells[0] = strings.TrimPrefix(cells[0], abilities.Indent)
		}
	}
	card.Rows = append(card.Rows, row(lineViolations, all, violations))
	if s := safety(slices.Concat(all...)); s.Believed > 0 || s.Lost > 0 {
		card.Rows = append(card.Rows, row("believed held / lost", all, func(trials []*locks.Outcome) string {
			s := safety(trials)
			return count(s.Believed) + " / " + count(s.Lost)
		}))
	}
	for i, name := range names {
		if len(all[i]) > 0 {
			card.Notes = append(card.Notes, note(name, all[i][0], len(all[i])))
		}
	}
	return card
}

// lineViolations names the line about violations, which make a run invalid; violations formats its cell.
const lineViolations = "held twice / fences out of order"

func violations(all []*locks.Outcome) string {
	s := safety(all)
	return count(s.Overlaps) + " / " + count(s.Disorder)
}

// safety is the sum over several loads.
func safety(all []*locks.Outcome) (sum locks.Safety) {
	for _, o := range all {
		one, _ := o.Safety()
		sum.Add(one)
	}
	return sum
}

// rowsOf returns the lines on the card for n contenders. It omits lines for which no database has a
// number.
func rowsOf(n int, all [][]*locks.Outcome) (rows [][]string) {
	for _, l := range lines(typicalOf(slices.Concat(all...))) {
		cells := row(l.name, all, func(trials []*locks.Outcome) string { return l.cell(trials, n) })
		if !slices.ContainsFunc(cells[1:], func(text string) bool { return text != "-" }) {
			continue
		}
		if cells[0] = abilities.Indent + l.name; len(rows) == 0 {
			cells[0] = contenders(&locks.Stage{Contenders: n}) + ": " + l.name
		}
		rows = append(rows, cells)
	}
	return rows
}

// row returns the name and cells of a card line, with a dash for an unknown cell.
func row(name string, all [][]*locks.Outcome, of func([]*locks.Outcome) string) []string {
	cells := []string{name}
	for _, trials := range all {
		text := ""
		if len(trials) > 0 {
			text = of(trials)
		}
		cells = append(cells, cmp.Or(text, "-"))
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
		text += fmt.Sprintf("; medians of %d trials (least..most), violations of all", trials)
	}
	return text
}
