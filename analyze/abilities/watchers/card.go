package watchers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/results"
)

// heard formats the time until the last watcher heard of a write: the p99, or the longest time if
// there are few.
func heard(s *results.Spread, clocks time.Duration) string {
	switch {
	case s == nil:
		return "-"
	case s.Enough(.99):
		return bounded(s.P99, clocks) + " ms"
	}
	return fmt.Sprintf("%s ms (the longest of %d)", bounded(s.Max, clocks), s.N)
}

// Say returns the sentence about when the last watcher heard of a write, or about slow watchers if all
// databases have some.
func (Half) Say(names []string, runs [][]*run.Run) string {
	if list := allLate(names, runs); len(list) > 0 {
		return sayLate(list)
	}
	var parts []string
	values := true // all watchers need them
	for i := range names {
		for _, o := range outcomes(runs[i]) {
			values = values && o.Plan.Values
		}
	}
	for i, name := range names {
		for _, o := range outcomes(runs[i]) {
			last := &o.Stages[len(o.Stages)-1]
			is := last.All
			if values {
				is = last.Old
			}
			text := fmt.Sprintf("%s %s with %s watchers", name, heard(is, o.ClockError), humanize.Comma(int64(last.Watchers)))
			if n := o.Counts.Lost; n > 0 {
				text += fmt.Sprintf(" and %s lost", humanize.Comma(n))
			}
			parts = append(parts, text)
		}
	}
	if values {
		return "After the write of a new value was due, the last watcher used the old one (p99) for " + strings.Join(parts, ", ") + "."
	}
	return "The last watcher has heard of a write (p99) after " + strings.Join(parts, ", ") + "."
}

// line is a row of the card. Its stage is that with the most watchers.
type line struct {
	name string
	of   func(*watchers.Outcome, *watchers.Stage) string
}

// fewNumbers is for how many numbers of watchers the card has a row of its own that is no detail.
const fewNumbers = 4

// lines are those of the card, for some numbers of watchers in rising order. Values means that some
// watchers need them.
func lines(numbers []int, values bool) []line {
	list := []line{{"sent to heard, p50 / p99", func(o *watchers.Outcome, s *watchers.Stage) string { return middleAndTail(s.Sent, o.ClockError) }}}
	for i, n := range numbers {
		name := "1 watcher heard, p50 / p99"
		if n > 1 {
			name = fmt.Sprintf("all %s heard, p50 / p99", humanize.Comma(int64(n)))
		}
		if len(numbers) > fewNumbers && i < len(numbers)-1 {
			name = abilities.Indent + name
		}
		list = append(list, line{name, func(o *watchers.Outcome, _ *watchers.Stage) string {
			at := slices.IndexFunc(o.Stages, func(s watchers.Stage) bool { return s.Watchers == n })
			if at < 0 {
				return "-"
			}
			return middleAndTail(o.Stages[at].All, o.ClockError)
		}})
	}
	if values {
		list = append(list, line{"old value used, p50 / p99 / longest", func(o *watchers.Outcome, s *watchers.Stage) string {
			if s.Old == nil {
				return "-"
			}
			return strings.TrimSuffix(middleAndTail(s.Old, o.ClockError), " ms") + " / " + bounded(s.Old.Max, o.ClockError) + " ms"
		}})
	}
	return append(list, line{"lost / replaced by newer ones", func(o *watchers.Outcome, _ *watchers.Stage) string {
		text := humanize.Comma(o.Counts.Lost) + " / " + humanize.Comma(o.Counts.Coalesced)
		if o.Coalesces {
			text += " by design"
		}
		return text
	}}, line{"p99 of writes (with the fewest)", func(o *watchers.Outcome, s *watchers.Stage) string {
		if s.Requests == 0 {
			return "-"
		}
		text := ms(int64(s.P99)) + " ms"
		if first := &o.Stages[0]; len(o.Stages) > 1 && first.Requests > 0 {
			text += fmt.Sprintf(" (%s with %s)", ms(int64(first.P99)), humanize.Comma(int64(first.Watchers)))
		}
		return text
	}})
}

// middleAndTail formats the median and the p99 of times, as far as there are enough.
func middleAndTail(s *results.Spread, clocks time.Duration) string {
	switch {
	case s == nil || !s.Enough(.5):
		return "-"
	case !s.Enough(.99):
		return bounded(s.P50, clocks) + " / - ms"
	}
	return bounded(s.P50, clocks) + " / " + bounded(s.P99, clocks) + " ms"
}

// Card is the first screen of loads with watchers: when all of them heard of writes, by their number, and
// the rest in the stage with the most. Databases that all have slow watchers have a row each about these.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	if list := allLate(names, runs); len(list) > 0 {
		return cardLate(list)
	}
	first := make([]*watchers.Outcome, len(names)) // of each database
	var numbers []int
	values := false
	card := &abilities.Card{Head: append([]string{"watchers of keys"}, names...)}
	for i, name := range names {
		list := outcomes(runs[i])
		if len(list) == 0 {
			continue
		}
		first[i], values = &list[0], values || list[0].Plan.Values
		for _, s := range list[0].Stages {
			if s.Watchers > 0 && !slices.Contains(numbers, s.Watchers) {
				numbers = append(numbers, s.Watchers)
			}
		}
		card.Notes = append(card.Notes, note(name, &list[0], len(list)))
	}
	if len(card.Notes) == 0 {
		return nil
	}
	slices.Sort(numbers)
	for _, l := range lines(numbers, values) {
		cells := []string{l.name}
		for _, o := range first {
			text := "-"
			if o != nil {
				text = l.of(o, &o.Stages[len(o.Stages)-1])
			}
			cells = append(cells, text)
		}
		card.Rows = append(card.Rows, cells)
	}
	return card
}

// note is below the card.
func note(name string, o *watchers.Outcome, trials int) string {
	last := &o.Stages[len(o.Stages)-1]
	text := fmt.Sprintf("%s: %s watches over %s: %s; %s deliveries in %v", name, o.Kind, connections(last), o.How, humanize.Comma(last.Deliveries), last.Length.Round(100*time.Millisecond))
	if trials > 1 {
		text += fmt.Sprintf("; the first of %d trials", trials)
	}
	return text
}
