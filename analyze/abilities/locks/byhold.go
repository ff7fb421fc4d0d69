package locks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/locks"
)

// held is the outcome of a run whose locks were held for a given time.
type held struct {
	hold  time.Duration
	of    *locks.Outcome
	stage *locks.Stage // with the fewest contenders, with hand-offs
}

// holds are the databases in a report that differ in the hold time, by that time. They have the
// same store, recipe and contender count.
type holds struct {
	store, recipe string
	column        abilities.Column // the first
	all           []held
}

// name returns the name of the line in a figure.
func (h *holds) name() string {
	return fmt.Sprintf("%s, %s, %s", h.store, h.recipe, contenders(h.all[0].stage))
}

// byHolds returns those that have several times, by their first trials.
func byHolds(columns []abilities.Column) []*holds {
	var list []*holds
	for _, c := range columns {
		all := outcomes(c.Runs)
		if len(all) == 0 || all[0].Plan.Hold <= 0 {
			continue
		}
		s := fewest(all[0], handedOver)
		if s == nil {
			continue
		}
		store := c.Runs[0].Info.Record.Database
		i := slices.IndexFunc(list, func(h *holds) bool {
			return h.store == store && h.recipe == all[0].Plan.Recipe && h.all[0].stage.Contenders == s.Contenders
		})
		if i < 0 {
			i, list = len(list), append(list, &holds{store: store, recipe: all[0].Plan.Recipe, column: c})
		}
		list[i].all = append(list[i].all, held{all[0].Plan.Hold, all[0], s})
	}
	for _, h := range list {
		slices.SortStableFunc(h.all, func(a, b held) int { return int(a.hold - b.hold) })
	}
	return slices.DeleteFunc(list, func(h *holds) bool { return h.all[0].hold == h.all[len(h.all)-1].hold })
}

// allByHold returns them if they are all databases with locks, each with one trial. Else the report
// is about something else, too.
func allByHold(names []string, runs [][]*run.Run) []*holds {
	var columns []abilities.Column
	for i, name := range names {
		switch n := len(outcomes(runs[i])); {
		case n > 1:
			return nil
		case n == 1:
			columns = append(columns, abilities.Column{Name: name, Runs: runs[i]})
		}
	}
	list, n := byHolds(columns), 0
	for _, h := range list {
		n += len(h.all)
	}
	if n != len(columns) {
		return nil
	}
	return list
}

// outcomesOf returns the outcomes in all holds.
func outcomesOf(list []*holds) (all []*locks.Outcome) {
	for _, h := range list {
		for _, one := range h.all {
			all = append(all, one.of)
		}
	}
	return all
}

// sayByHold is the sentence about the fastest and slowest hand-off of each, with the times for
// which the lock was held.
func sayByHold(list []*holds) string {
	t := typicalOf(outcomesOf(list))
	var said []string
	for _, h := range list {
		shorter := func(a, b held) int { return cmp.Compare(t.of(a.stage.HandOff), t.of(b.stage.HandOff)) }
		fast, slow := slices.MinFunc(h.all, shorter), slices.MaxFunc(h.all, shorter)
		text := fmt.Sprintf("%s (%s) %s", h.store, how(h.all[0].of, ""), ms(t.of(fast.stage.HandOff)))
		if fast.hold != slow.hold {
			text += fmt.Sprintf(" if it is held for %v to %s if for %v", fast.hold, ms(t.of(slow.stage.HandOff)), slow.hold)
		}
		said = append(said, text)
	}
	return fmt.Sprintf("A lock changes hands between %s %s in %s.", contenders(list[0].all[0].stage), t.phrase, strings.Join(said, ", "))
}

// cardByHold has a row for each time.
func cardByHold(list []*holds) *abilities.Card {
	t := typicalOf(outcomesOf(list))
	card := &abilities.Card{Head: []string{fmt.Sprintf("%s between %s of a lock that is held for", t.head, contenders(list[0].all[0].stage))}}
	var times []time.Duration
	safe := []string{lineViolations}
	for _, h := range list {
		card.Head = append(card.Head, h.store+", "+how(h.all[0].of, ""))
		var all []*locks.Outcome
		for _, one := range h.all {
			if !slices.Contains(times, one.hold) {
				times = append(times, one.hold)
			}
			all = append(all, one.of)
		}
		safe = append(safe, violations(all))
		o := h.all[0].of
		card.Notes = append(card.Notes, fmt.Sprintf("%s: %s; %s, TTL %v; %s wait for %s", h.store, how(o, o.By), o.What, o.TTL, contenders(h.all[0].stage), o.Waits))
	}
	slices.Sort(times)
	for _, hold := range times {
		cells := []string{hold.String()}
		for _, h := range list {
			text := "-"
			if i := slices.IndexFunc(h.all, func(one held) bool { return one.hold == hold }); i >= 0 {
				text = t.cell(h.all[i].stage.HandOff)
			}
			cells = append(cells, text)
		}
		card.Rows = append(card.Rows, cells)
	}
	card.Rows = append(card.Rows, safe)
	return card
}
