package watchers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// late is a database whose slow watchers were seen to read again, in its stage with the most watchers.
type late struct {
	name, store string
	of          *watchers.Outcome
	slow        *watchers.SlowStage
}

// allLate returns the databases with watchers, by their first trials, if there are several and all had
// slow watchers. Else the report is about something else, too.
func allLate(names []string, runs [][]*run.Run) (list []late) {
	for i, name := range names {
		all := outcomes(runs[i])
		if len(all) == 0 {
			continue
		}
		s := most(&all[0], func(s *watchers.Stage) bool { return s.Slow != nil && len(s.Slow.Rates()) > 0 })
		if s == nil {
			return nil
		}
		list = append(list, late{name, runs[i][0].Info.Record.Database, &all[0], s.Slow})
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// caughtUp reports whether all connections that did not end caught up.
func (l late) caughtUp() bool {
	return !slices.ContainsFunc(l.slow.Each, func(c watchers.CatchUp) bool { return !c.CaughtUp && !c.Ended })
}

// perSecond formats a rate.
func perSecond(rate float64) string { return humanize.Comma(int64(rate+.5)) + "/s" }

// sayLate is the sentence about the rates at which stores served slow watchers, and the write rates
// under which they caught up.
func sayLate(list []late) string {
	var said, stores []string
	for _, l := range list {
		if !slices.Contains(stores, l.store) {
			stores = append(stores, l.store)
		}
	}
	for _, store := range stores {
		of := slices.DeleteFunc(slices.Clone(list), func(l late) bool { return l.store != store })
		if of[0].of.Coalesces {
			said = append(said, fmt.Sprintf("A watcher of %s that was behind got the newest value of each key.", store))
			continue
		}
		slices.SortStableFunc(of, func(a, b late) int { return cmp.Compare(a.slow.WriteRate(), b.slow.WriteRate()) })
		var rates []float64
		for _, l := range of {
			rates = append(rates, order.Middle(l.slow.Rates()))
		}
		said = append(said, fmt.Sprintf("A watcher of %s that was behind got %s (medians): %s.", store, run.RangeText(rates, perSecond), underWrites(of)))
	}
	return strings.Join(said, " ")
}

// underWrites states at which write rates watchers caught up, and did not. The rates rise.
func underWrites(of []late) string {
	first := slices.IndexFunc(of, func(l late) bool { return !l.caughtUp() })
	switch {
	case first < 0:
		return fmt.Sprintf("it caught up while %s were written", perSecond(of[len(of)-1].slow.WriteRate()))
	case first == 0:
		return fmt.Sprintf("it did not catch up while %s were written", perSecond(of[0].slow.WriteRate()))
	}
	return fmt.Sprintf("it caught up while %s were written, and not while %s were", perSecond(of[first-1].slow.WriteRate()), perSecond(of[first].slow.WriteRate()))
}

// cardLate has a row for each database.
func cardLate(list []late) *abilities.Card {
	card := &abilities.Card{Head: []string{"watchers that were behind", "written meanwhile", "served, p50 / least", "caught up", "p99 of requests / before"}}
	lost := int64(0)
	for _, l := range list {
		lost += l.of.Counts.Lost
		rates := l.slow.Rates()
		served := perSecond(order.Middle(rates)) + " / " + perSecond(rates[0])
		if l.of.Coalesces {
			served = "newest values"
		}
		longest := time.Duration(0)
		for _, c := range l.slow.Each {
			longest = max(longest, c.Took)
		}
		latency := "-"
		if a, b := l.slow.After, l.slow.Before; a.Requests > 0 && b.Requests > 0 {
			latency = fmt.Sprintf("%s / %s ms", ms(int64(a.P99)), ms(int64(b.P99)))
		}
		card.Rows = append(card.Rows, []string{
			l.name, perSecond(l.slow.WriteRate()), served, fmt.Sprintf("%d of %d in %.1f s", l.slow.CaughtUp, len(l.slow.Each), longest.Seconds()), latency,
		})
	}
	first := list[0]
	card.Notes = append(card.Notes, fmt.Sprintf("%s of the connections, %d here, read nothing for %v and then got what they missed; written meanwhile: the writes a second that each watcher was to get from then until the last connection had caught up, or the load ended; %s lost",
		first.of.Plan.Slow.Share, first.slow.Connections, first.of.Plan.Slow.Pause, english.Plural(int(lost), "delivery was", "deliveries were")))
	return card
}
