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
// there are few. The text mentions it if the time is known for only some writes in the stage.
func heard(is *results.Spread, of *watchers.Stage, clocks time.Duration) string {
	if is == nil {
		return "-"
	}
	writes := ""
	if partly(of) {
		writes = fmt.Sprintf(" of %s writes", humanize.Comma(of.Writes))
	}
	switch {
	case !is.Enough(.99):
		return fmt.Sprintf("%s ms (the longest of %d%s)", bounded(is.Max, clocks), is.N, writes)
	case writes != "":
		return fmt.Sprintf("%s ms (of %s%s)", bounded(is.P99, clocks), humanize.Comma(is.N), writes)
	}
	return bounded(is.P99, clocks) + " ms"
}

// partly reports whether more writes than a percentile could ignore have no time until all heard of
// them.
func partly(s *watchers.Stage) bool {
	const ignored = 0.01
	return float64(s.Unheard()) > ignored*float64(s.Writes)
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
			text := fmt.Sprintf("%s %s with %s watchers", name, heard(is, last, o.ClockError), humanize.Comma(int64(last.Watchers)))
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

// line is a row on the card. Its stage is the one with the most watchers.
type line struct {
	name string
	of   func(*watchers.Outcome, *watchers.Stage) string
}

// fewNumbers is the number of watcher counts that may each have a separate row on the card, not a
// detail.
const fewNumbers = 4

// lines returns the rows on the card, for rising watcher counts. values means that some watchers
// need values. Times are in milliseconds.
func lines(numbers []int, values bool) []line {
	list := []line{{"each heard", func(o *watchers.Outcome, s *watchers.Stage) string { return middleAndTail(s.Sent, o.ClockError) }}}
	for i, n := range numbers {
		name := "1 heard"
		if n > 1 {
			name = fmt.Sprintf("all %s heard", humanize.Comma(int64(n)))
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
		list = append(list, line{"old value used", func(o *watchers.Outcome, s *watchers.Stage) string { return middleAndTail(s.Old, o.ClockError) }})
	}
	return append(list, line{"lost / replaced", func(o *watchers.Outcome, _ *watchers.Stage) string {
		return humanize.Comma(o.Counts.Lost) + " / " + humanize.Comma(o.Counts.Coalesced)
	}}, line{"p99 of writes, and with the fewest", func(o *watchers.Outcome, s *watchers.Stage) string {
		if s.Requests == 0 {
			return "-"
		}
		text := short(int64(s.P99), 0)
		if first := &o.Stages[0]; len(o.Stages) > 1 && first.Requests > 0 {
			text += fmt.Sprintf(", %s with %s", short(int64(first.P99), 0), humanize.Comma(int64(first.Watchers)))
		}
		return text
	}})
}

// short formats a time in milliseconds with few digits. A time below the clock error is printed as
// at most that error.
func short(ns int64, clocks time.Duration) string {
	sign := ""
	if ns < int64(clocks) {
		sign, ns = "<= ", int64(clocks)
	}
	if ns < int64(10*time.Millisecond) {
		return fmt.Sprintf("%s%.2f", sign, float64(ns)/1e6)
	}
	return fmt.Sprintf("%s%.1f", sign, float64(ns)/1e6)
}

// middleAndTail formats the median and the p99 as far as there are enough times, or else the
// longest.
func middleAndTail(s *results.Spread, clocks time.Duration) string {
	switch {
	case s == nil || !s.Enough(.5):
		return "-"
	case !s.Enough(.99):
		return fmt.Sprintf("%s / longest %s", short(s.P50, clocks), short(s.Max, clocks))
	}
	return short(s.P50, clocks) + " / " + short(s.P99, clocks)
}

// Card is the first screen for loads with watchers: when all heard of writes, by watcher count, and
// the rest in the stage with the most watchers. If all databases have slow watchers, each has a row
// about these.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	if list := allLate(names, runs); len(list) > 0 {
		return cardLate(list)
	}
	first := make([]*watchers.Outcome, len(names)) // one for each database
	var numbers []int
	values := false
	card := &abilities.Card{Head: append([]string{"watchers, p50 / p99 in ms"}, names...)}
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
	if o.Coalesces {
		text += "; newer values replace older ones by design"
	}
	for i := range o.Stages {
		if s := &o.Stages[i]; s.Watchers > 0 && partly(s) {
			text += fmt.Sprintf("; with %s watching, it is not known of %s of %s writes when all had heard of them, or of newer ones: they are in no time above", humanize.Comma(int64(s.Watchers)), humanize.Comma(s.Unheard()), humanize.Comma(s.Writes))
		}
	}
	if trials > 1 {
		text += fmt.Sprintf("; the first of %d trials", trials)
	}
	return text
}
