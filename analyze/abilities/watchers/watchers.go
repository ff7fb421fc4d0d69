// Package watchers shows how soon watchers of keys heard of a load's writes, and whether they heard
// of all.
package watchers

import (
	"fmt"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// Half shows deliveries to watchers in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Sayer  = Half{}
	_ abilities.Carder = Half{}
	_ abilities.Actor  = Half{}
	_ abilities.Drawer = Half{}
)

// Name is the experiment kind.
func (Half) Name() string { return "watchers" }

// Acted reports whether keys were watched during the load.
func (Half) Acted(r *run.Run) bool {
	_, err := outcome(r)
	return err == ""
}

// outcome returns the outcome, or the reason why there is no outcome.
func outcome(r *run.Run) (o watchers.Outcome, none string) {
	o, err := watchers.Record().Of(r.Info.Record.Records)
	switch {
	case err != nil:
		return o, err.Error()
	case len(o.Stages) == 0:
		return o, "no keys were watched"
	}
	return o, ""
}

// Rows returns the rows about delivery, slow watchers and reconnects.
func (Half) Rows() []abilities.Row {
	row := func(name, after, unit, definition string, of func(*watchers.Outcome) (run.Measure, string)) abilities.Row {
		return abilities.Row{Name: name, Unit: unit, After: after, Definition: definition, Cell: cell(of)}
	}
	return []abilities.Row{
		row("WATCHERS", "LOST-WRITES", "watchers", "the most watchers of keys during the load, what each watched, by which kind of watch, over how many connections, and how many were added a second", plan),
		row("WATCH-DELIVERY", "WATCHERS", "ms", "time from the sending of a write until a watcher had the event, over all watchers, by their number: percentiles of enough deliveries and how many there were; the number is the median with the most watchers", spent(func(s *watchers.Stage) *results.Spread { return s.Sent })),
		row("WATCH-DELIVERY-DUE", "WATCH-DELIVERY", "ms", "the same from when the write was due, which a client that is late does not shorten", spent(func(s *watchers.Stage) *results.Spread { return s.Due })),
		row("WATCH-ALL-HEARD", "WATCH-DELIVERY-DUE", "ms", "time from the sending of a write until the last watcher had the event, or that of a newer write of the key: percentiles of enough writes and how many there were. Of a write that no watcher heard of it ends when the last one had heard of a newer write. If others overlapped with it, so that their order is not known, that is the first that surely came later, and the time is at most twice the true one. Writes for which it is not known are left out, and counted", allHeard(func(s *watchers.Stage) *results.Spread { return s.All })),
		row("WATCH-OLD-VALUE", "WATCH-ALL-HEARD", "ms", "time for which some watcher used an old value: from when the write of a newer one was due until the last watcher had it in hand, or a still newer one: percentiles of enough writes and how many there were. Only for watches whose events have values", old),
		row("WATCH-BEFORE-ACK", "WATCH-OLD-VALUE", "%", "deliveries that came before the answer to the writer, of all with the most watchers", before),
		row("WATCH-EVENTS", "WATCH-BEFORE-ACK", "events/s", "deliveries a second, by the number of watchers", events),
		{Name: "WATCH-CLIENT-CPU", Unit: "us", After: "WATCH-EVENTS", Cell: perEvent(client), Definition: "processor time of control's process while the number of watchers stayed, divided by the deliveries in that time, by the number of watchers, and how many events these were. It contains the requests of the load, unless generators issue it, and agents that run in the same process; loads with many events for each write show what an event costs. Not for numbers of watchers with slow ones"},
		{Name: "WATCH-SERVER-CPU", Unit: "us", After: "WATCH-CLIENT-CPU", Cell: perEvent(members), Definition: "processor time of all members' processes in the same time, divided by the same deliveries: with the writes, their agreement and the rest of what members do"},
		row("WATCH-EXACT", "WATCH-SERVER-CPU", "deliveries", "deliveries that were lost, came again or came after newer ones; those that were replaced by newer ones of the key, which blocking queries and one-shot watches do by design, and events without a new write; of all writes during the load", exact),
		row("WATCH-WRITES", "WATCH-EXACT", "ms", "p99 of the requests of the load that ended ok in the whole seconds with each number of watchers", writes),
		row("WATCH-SLOW-DELIVERY", "WATCH-WRITES", "ms", "time from the sending of a write until a slow watcher had the event, over those whose connections read nothing for a time; the other rows are without them. How many there were, and how many of their connections ended before their time", slowDelivery),
		row("WATCH-SLOW-CATCH-UP", "WATCH-SLOW-DELIVERY", "changes/s", "changes a second that came to a slow watcher while it caught up: of each slow connection, from when it read again until the database reported that everything written before had come, or else until its next pause or the end of the load; the median and the least of the connections, how many there were, and how many writes a second each watcher was to get meanwhile. A watcher that gets less than that never catches up. The number is the median with the most watchers", catchUp),
		row("WATCH-SLOW-CAUGHT-UP", "WATCH-SLOW-CATCH-UP", "ms", "the time of each slow connection from when it read again until it had caught up, over those that had before their next pause or the end of the load: the median and the longest; how many they were of all, and for how long the others were behind without catching up, from when they read again", caughtUp),
		row("WATCH-SLOW-WRITES", "WATCH-SLOW-CAUGHT-UP", "ms", "p99 of the requests of the load that ended ok in the whole seconds in which the slow connections read nothing, in those of the same stage before, and in those in which they caught up", slowWrites),
		row("WATCH-RECONNECTS", "WATCH-SLOW-WRITES", "connections", "connections of watchers that were closed and opened again, each time counted, with how many watchers that continued where they were; how many connections could not be opened again, and how often the database had discarded changes that a watcher missed. Their deliveries are in the other rows", reconnects),
		row("WATCH-RECONNECT-FIRST", "WATCH-RECONNECTS", "ms", "time from the closing of a connection of watchers until the first event over the new one, over the connections that had one before they were closed again: percentiles of enough connections and how many there were", reopened(func(r *watchers.Reconnects) *results.Spread { return r.First })),
		row("WATCH-RECONNECT-CAUGHT-UP", "WATCH-RECONNECT-FIRST", "ms", "time from the closing of a connection of watchers until everything that was written before they watched again had come over the new one, over the connections for which it had before they were closed again: percentiles of enough connections and how many there were", reopened(func(r *watchers.Reconnects) *results.Spread { return r.CaughtUp })),
	}
}

// cell returns a function that formats a part of the record.
func cell(of func(*watchers.Outcome) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		o, none := outcome(r)
		if none != "" {
			return run.Inapplicable("%s", none), ""
		}
		return of(&o)
	}
}

// most returns the stage with the most watchers that has a number, or nil.
func most(o *watchers.Outcome, has func(*watchers.Stage) bool) *watchers.Stage {
	for i := len(o.Stages) - 1; i >= 0; i-- {
		if has(&o.Stages[i]) {
			return &o.Stages[i]
		}
	}
	return nil
}

// each formats a value for each stage, with its watcher count if there are several stages.
func each(o *watchers.Outcome, of func(*watchers.Stage) string) string {
	var parts []string
	for i := range o.Stages {
		text := of(&o.Stages[i])
		if text == "" {
			continue
		}
		if len(o.Stages) > 1 {
			text = humanize.Comma(int64(o.Stages[i].Watchers)) + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// connections formats the connection count of a stage.
func connections(s *watchers.Stage) string { return english.Plural(s.Connections, "connection", "") }

func plan(o *watchers.Outcome) (run.Measure, string) {
	last := &o.Stages[len(o.Stages)-1]
	text := fmt.Sprintf("%s of %s over %s, by %s watches: %s", humanize.Comma(int64(last.Watchers)), o.Plan.Of.Text(), connections(last), o.Kind, o.How)
	if added := each(o, func(s *watchers.Stage) string {
		if s.Added == 0 || s.Establish <= 0 {
			return ""
		}
		return fmt.Sprintf("%.0f added/s", float64(s.Added)/s.Establish.Seconds())
	}); added != "" {
		text += "; " + added
	}
	return run.Counted(int64(last.Watchers)), text
}

// ms formats a time in milliseconds.
func ms(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }

// bounded formats a time in milliseconds. A time below the clock error is printed as at most that
// error.
func bounded(ns int64, clocks time.Duration) string {
	if ns < int64(clocks) {
		return "<= " + ms(int64(clocks))
	}
	return ms(ns)
}

// byClocks states the error in times between the clocks of several machines; "" for a single clock.
func byClocks(o *watchers.Outcome) string {
	if o.ClockError == 0 {
		return ""
	}
	return fmt.Sprintf("; clocks to within %s ms", ms(int64(o.ClockError)))
}

// percentiles formats the percentiles that have enough values. clocks is the clock error.
func percentiles(s *results.Spread, clocks time.Duration) string {
	var parts []string
	for _, q := range []struct {
		name string
		at   float64
		is   int64
	}{{"p50", .5, s.P50}, {"p99", .99, s.P99}, {"p99.9", .999, s.P999}} {
		if s.Enough(q.at) {
			parts = append(parts, q.name+" "+bounded(q.is, clocks))
		}
	}
	return fmt.Sprintf("%s ms of %s", strings.Join(append(parts, "longest "+bounded(s.Max, clocks)), ", "), humanize.Comma(s.N))
}

// unheard is the cell for a run without deliveries in a stage.
func unheard(*watchers.Outcome) run.Measure {
	return run.Missing("no write was heard of while the number of watchers stayed")
}

// spent formats times since a write by stage. If writers and watchers have several clocks, the
// times are exact to within the clock error.
func spent(of func(*watchers.Stage) *results.Spread) func(*watchers.Outcome) (run.Measure, string) {
	return func(o *watchers.Outcome) (run.Measure, string) {
		m, text := times(of, unheard, o.ClockError)(o)
		if text != "" {
			text += byClocks(o)
		}
		return m, text
	}
}

// allHeard formats times until all had heard of a write, like spent, and the number of writes
// without such a time.
func allHeard(of func(*watchers.Stage) *results.Spread) func(*watchers.Outcome) (run.Measure, string) {
	return func(o *watchers.Outcome) (run.Measure, string) {
		m, text := spent(of)(o)
		if left := each(o, func(s *watchers.Stage) string {
			if s.Watchers == 0 || s.Unheard() == 0 {
				return ""
			}
			return fmt.Sprintf("%s of %s", humanize.Comma(s.Unheard()), humanize.Comma(s.Writes))
		}); left != "" && text != "" {
			text += "; without writes for which it is not known: " + left
		}
		return m, text
	}
}

// times formats times by stage. none is the cell for a run without any.
func times(of func(*watchers.Stage) *results.Spread, none func(*watchers.Outcome) run.Measure, clocks time.Duration) func(*watchers.Outcome) (run.Measure, string) {
	return func(o *watchers.Outcome) (run.Measure, string) {
		last := most(o, func(s *watchers.Stage) bool { return of(s) != nil })
		if last == nil {
			return none(o), ""
		}
		text := each(o, func(s *watchers.Stage) string {
			if of(s) == nil {
				return ""
			}
			return percentiles(of(s), clocks)
		})
		return run.Measure{Value: float64(of(last).P50) / 1e6, N: of(last).N}, text
	}
}

// old formats the time that an old value was used.
func old(o *watchers.Outcome) (run.Measure, string) {
	if !o.Values {
		return run.Inapplicable("events of %s watches have no values", o.Kind), ""
	}
	return allHeard(func(s *watchers.Stage) *results.Spread { return s.Old })(o)
}

func before(o *watchers.Outcome) (run.Measure, string) {
	last := most(o, func(s *watchers.Stage) bool { return s.Deliveries > 0 })
	if last == nil {
		return unheard(o), ""
	}
	share := func(s *watchers.Stage) float64 { return 100 * float64(s.BeforeAck) / float64(s.Deliveries) }
	text := each(o, func(s *watchers.Stage) string {
		if s.Deliveries == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f %% of %s", share(s), humanize.Comma(s.Deliveries))
	}) + byClocks(o)
	return run.Measure{Value: share(last), N: last.Deliveries}, text
}

func events(o *watchers.Outcome) (run.Measure, string) {
	last := most(o, func(s *watchers.Stage) bool { return s.Deliveries > 0 && s.Length > 0 })
	if last == nil {
		return unheard(o), ""
	}
	rate := func(s *watchers.Stage) float64 { return float64(s.Deliveries) / s.Length.Seconds() }
	text := each(o, func(s *watchers.Stage) string {
		if s.Deliveries == 0 || s.Length <= 0 {
			return ""
		}
		return fmt.Sprintf("%s in %.1f s", perSecond(rate(s)), s.Length.Seconds())
	})
	return run.Measure{Value: rate(last), N: last.Deliveries}, text
}

func exact(o *watchers.Outcome) (run.Measure, string) {
	c := &o.Counts
	text := fmt.Sprintf("%s of %s writes: %d lost, %d again, %d after newer ones", humanize.Comma(c.Delivered), humanize.Comma(c.Writes), c.Lost, c.Duplicate, c.Reordered)
	if o.Coalesces {
		text += fmt.Sprintf(", %s replaced by newer ones and %s events without news by design", humanize.Comma(c.Coalesced), humanize.Comma(c.Woken))
	}
	for _, more := range []struct {
		n    int64
		what string
	}{
		{c.Behind, "had not come by the end"}, {c.Unjudged, "were not judged"}, {c.Foreign, "were of writes of others, or of unknown ones"},
		{c.Unknown, "more writes may have been made: their outcome is unknown"},
	} {
		if more.n > 0 {
			text += fmt.Sprintf("; %s %s", humanize.Comma(more.n), more.what)
		}
	}
	if len(o.Witnesses) > 0 {
		w := o.Witnesses[0]
		text += fmt.Sprintf("; first: %s, watcher %d, version %d of key %d", w.Fault, w.Watcher, w.Version, w.Key)
	}
	return run.Counted(c.Delivered), text
}

func writes(o *watchers.Outcome) (run.Measure, string) {
	last := most(o, func(s *watchers.Stage) bool { return s.Requests > 0 })
	if last == nil {
		return run.Inapplicable("no whole second of the measured load had one number of watchers"), ""
	}
	text := each(o, func(s *watchers.Stage) string {
		if s.Requests == 0 {
			return ""
		}
		return fmt.Sprintf("p99 %s ms of %s in %d s", ms(int64(s.P99)), humanize.Comma(s.Requests), s.Seconds)
	})
	return run.Measure{Value: float64(last.P99) / 1e6, N: last.Requests}, text
}

// slowly formats a value for each stage with slow watchers.
func slowly(o *watchers.Outcome, has func(*watchers.SlowStage) bool, of func(*watchers.Stage) string) (last *watchers.Stage, text string) {
	with := func(s *watchers.Stage) bool { return s.Slow != nil && has(s.Slow) }
	return most(o, with), each(o, func(s *watchers.Stage) string {
		if !with(s) {
			return ""
		}
		return of(s)
	})
}

// noSlow is the cell for a run without slow watchers, or without a number for them.
func noSlow(o *watchers.Outcome) run.Measure {
	if !o.Plan.Slow.Wanted() {
		return run.Inapplicable("no watchers were slow")
	}
	return run.Missing("no slow connection was seen through its pause")
}

func slowDelivery(o *watchers.Outcome) (run.Measure, string) {
	last, text := slowly(o, func(s *watchers.SlowStage) bool { return s.Sent != nil }, func(s *watchers.Stage) string {
		return fmt.Sprintf("%s to %s over %s that read nothing for %.1f s", percentiles(s.Slow.Sent, o.ClockError), english.Plural(s.Slow.Watchers, "watcher", ""), english.Plural(s.Slow.Connections, "connection", ""), s.Slow.Length.Seconds())
	})
	if o.SlowEnded > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s; %s ended: %s", text, english.Plural(o.SlowEnded, "slow connection", ""), o.SlowWhy), "; ")
	}
	if last == nil {
		return noSlow(o), text
	}
	return run.Measure{Value: float64(last.Slow.Sent.P50) / 1e6, N: last.Slow.Sent.N}, text
}

func catchUp(o *watchers.Outcome) (run.Measure, string) {
	last, text := slowly(o, func(s *watchers.SlowStage) bool { return len(s.Rates()) > 0 }, func(s *watchers.Stage) string {
		rates := s.Slow.Rates()
		text := fmt.Sprintf("p50 %s, least %s of %s", perSecond(order.Middle(rates)), perSecond(rates[0]), english.Plural(len(rates), "connection", ""))
		if s.Slow.Written > 0 {
			text += fmt.Sprintf("; %s were written meanwhile", perSecond(s.Slow.WriteRate()))
		}
		return text
	})
	if last == nil {
		return noSlow(o), text
	}
	if o.Coalesces {
		text += "; the newest value of each key alone: what a watcher misses is not kept for it"
	}
	rates := last.Slow.Rates()
	return run.Measure{Value: order.Middle(rates), N: int64(len(rates))}, text
}

// lags returns the time that slow connections needed to catch up, and the time for which the others
// were behind.
func lags(s *watchers.SlowStage) (caughtUp, behind *results.Spread) {
	var took, never []int64
	for i := range s.Each {
		switch c := &s.Each[i]; {
		case c.CaughtUp:
			took = append(took, int64(c.Took))
		case !c.Ended:
			never = append(never, int64(c.Took))
		}
	}
	return results.SpreadOf(took), results.SpreadOf(never)
}

func caughtUp(o *watchers.Outcome) (run.Measure, string) {
	last, text := slowly(o, func(s *watchers.SlowStage) bool { return len(s.Each) > 0 }, func(s *watchers.Stage) string {
		took, never := lags(s.Slow)
		var parts []string
		if took != nil {
			parts = append(parts, fmt.Sprintf("p50 %s, longest %s ms", ms(took.P50), ms(took.Max)))
		}
		parts = append(parts, fmt.Sprintf("%d of %s caught up", s.Slow.CaughtUp, english.Plural(len(s.Slow.Each), "connection", "")))
		if never != nil {
			parts = append(parts, fmt.Sprintf("%d had not after %s ms", never.N, ms(never.Max)))
		}
		return strings.Join(parts, "; ")
	})
	if last == nil {
		return noSlow(o), text
	}
	took, never := lags(last.Slow)
	if took != nil {
		return run.Measure{Value: float64(took.P50) / 1e6, N: took.N}, text
	}
	why := "no slow connection caught up before its next pause or the end of the load"
	if never == nil {
		why = "all slow connections ended before they caught up"
	}
	m := run.Missing("%s", why)
	m.Words = text
	return m, text
}

func slowWrites(o *watchers.Outcome) (run.Measure, string) {
	last, text := slowly(o, func(s *watchers.SlowStage) bool { return s.During.Requests > 0 }, func(s *watchers.Stage) string {
		text := fmt.Sprintf("p99 %s ms of %s in %d s", ms(int64(s.Slow.During.P99)), humanize.Comma(s.Slow.During.Requests), s.Slow.During.Seconds)
		if b := s.Slow.Before; b.Requests > 0 {
			text += fmt.Sprintf(", before %s ms of %s in %d s", ms(int64(b.P99)), humanize.Comma(b.Requests), b.Seconds)
		}
		if a := s.Slow.After; a.Requests > 0 {
			text += fmt.Sprintf(", while they caught up %s ms of %s in %d s", ms(int64(a.P99)), humanize.Comma(a.Requests), a.Seconds)
		}
		return text
	})
	if last == nil {
		return noSlow(o), text
	}
	return run.Measure{Value: float64(last.Slow.During.P99) / 1e6, N: last.Slow.During.Requests}, text
}

// reconnects formats the number of connections opened again.
func reconnects(o *watchers.Outcome) (run.Measure, string) {
	with := func(s *watchers.Stage) bool { return s.Reconnects != nil }
	last := most(o, with)
	if last == nil {
		return noReconnect(o), ""
	}
	text := each(o, func(s *watchers.Stage) string {
		if !with(s) {
			return ""
		}
		text := fmt.Sprintf("%s with %s", english.Plural(s.Reconnects.Connections, "connection", ""), english.Plural(s.Reconnects.Watchers, "watcher", ""))
		if n := s.Reconnects.Failed; n > 0 {
			text += fmt.Sprintf(", %d could not be opened again", n)
		}
		return text
	})
	text += fmt.Sprintf("; each once in %v", o.Plan.Reconnect)
	if n := o.Counts.Gaps; n > 0 {
		text += fmt.Sprintf("; %s, as the database had discarded changes: first %s", english.Plural(int(n), "gap", ""), o.GapWhy)
	}
	return run.Counted(int64(last.Reconnects.Connections)), text
}

// noReconnect is the cell for a run in which no connection was opened again, or without times for
// that.
func noReconnect(o *watchers.Outcome) run.Measure {
	if o.Plan.Reconnect == 0 {
		return run.Inapplicable("no connections of watchers were opened again")
	}
	return run.Missing("no connection of watchers was seen to be opened again")
}

// reopened formats times of connections that were opened again, by stage.
func reopened(of func(*watchers.Reconnects) *results.Spread) func(*watchers.Outcome) (run.Measure, string) {
	return times(func(s *watchers.Stage) *results.Spread {
		if s.Reconnects == nil {
			return nil
		}
		return of(s.Reconnects)
	}, noReconnect, 0)
}

// outcomes returns outcomes from runs in which keys were watched.
func outcomes(runs []*run.Run) (list []watchers.Outcome) {
	for _, r := range runs {
		if o, none := outcome(r); none == "" {
			list = append(list, o)
		}
	}
	return list
}
