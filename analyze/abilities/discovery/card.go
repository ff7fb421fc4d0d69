package discovery

import (
	"fmt"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/discovery"
)

// line is a row on the card; "" means unknown.
type line struct {
	name string
	of   func(*run.Run, *discovery.Outcome) string
}

// lines returns the rows on the card.
func lines() []line {
	part := func(k discovery.Kind, of func(*discovery.Change) time.Duration, at func(discovery.Times) time.Duration, text func(time.Duration) string) func(*run.Run, *discovery.Outcome) string {
		return func(_ *run.Run, o *discovery.Outcome) string {
			t := times(o, k, of)
			if t.N == 0 {
				return ""
			}
			return text(at(t))
		}
	}
	p50 := func(t discovery.Times) time.Duration { return t.P50 }
	longest := func(t discovery.Times) time.Duration { return t.Max }
	return []line{
		{"death known to all, p50", part(discovery.Death, whole, p50, seconds)},
		{"  p95", part(discovery.Death, whole, func(t discovery.Times) time.Duration { return t.P95 }, seconds)},
		{"  longest", part(discovery.Death, whole, longest, seconds)},
		{"  deaths", func(_ *run.Run, o *discovery.Outcome) string { return known(o, discovery.Death) }},
		{"promise", func(_ *run.Run, o *discovery.Outcome) string { return promise(o) }},
		{"session rule, p50", part(discovery.Death, (*discovery.Change).Rule, p50, seconds)},
		{"  later than the TTL", part(discovery.Death, late, p50, seconds)},
		{"to the last consumer, p50", part(discovery.Death, fanOut, p50, short)},
		{"  longest", part(discovery.Death, fanOut, longest, short)},
		{"deploy known to all, p50", part(discovery.Deploy, whole, p50, short)},
		{"  longest", part(discovery.Deploy, whole, longest, short)},
		{"next leader known to all, p50", part(discovery.Election, whole, p50, seconds)},
		{"  longest", part(discovery.Election, whole, longest, seconds)},
		{"  elections", func(_ *run.Run, o *discovery.Outcome) string { return known(o, discovery.Election) }},
		{"leader's session rule, p50", part(discovery.Election, (*discovery.Change).Rule, p50, seconds)},
		{"until the next leader, p50", part(discovery.Election, handOff, p50, short)},
		{"to the last consumer, p50", part(discovery.Election, fanOut, p50, short)},
		{"declared dead alive / never heard", func(_ *run.Run, o *discovery.Outcome) string {
			return count(o.Alive) + " / " + count(o.Lost)
		}},
		{"leading member's CPU while idle", func(r *run.Run, o *discovery.Outcome) string {
			m := idleCPU(r, o)
			if !m.Known() {
				return ""
			}
			return percent(m)
		}},
		{"TTL granted", func(_ *run.Run, o *discovery.Outcome) string { return o.TTL.String() }},
	}
}

// Card is the first screen for loads with instances: the time until all consumers knew about a
// death, its parts, and the cost of waiting for a death.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	card := &abilities.Card{Head: append([]string{"service discovery"}, names...)}
	found := false
	for _, l := range lines() {
		cells := []string{l.name}
		some := false
		for i := range names {
			text := ""
			if list, of := outcomes(runs[i]); len(list) > 0 {
				found = true
				text = l.of(of[0], list[0])
			}
			if some = some || text != ""; text == "" {
				text = "-"
			}
			cells = append(cells, text)
		}
		if some {
			card.Rows = append(card.Rows, cells)
		}
	}
	for i, name := range names {
		if list, _ := outcomes(runs[i]); len(list) > 0 {
			card.Notes = append(card.Notes, note(name, list[0], len(list)))
		}
	}
	if !found {
		return nil
	}
	return card
}

// note is below the card.
func note(name string, o *discovery.Outcome, trials int) string {
	text := fmt.Sprintf("%s: %s instances and %s consumers; a %s ends %s; renewed every %v by %s; watched by %s",
		name, count(o.Registered.Registered), count(o.Watching), o.What, o.Rule, o.Plan.Keep.Round(time.Millisecond), o.Renewal, o.Watch)
	if way := beside(o); way != "" {
		text += "; another way: " + way
	}
	if trials > 1 {
		text += fmt.Sprintf("; the first of %d trials", trials)
	}
	return text
}

// Figures returns a picture for the deaths and one for the elections: the share that all consumers
// knew by the time after the death, with a line per database for its trials.
func (Half) Figures(columns []abilities.Column) (list []figure.Figure) {
	all := 100.0
	for _, f := range []struct {
		kind                    discovery.Kind
		name, what, from, since string
	}{
		{discovery.Death, "DEATHS-KNOWN", "Deaths", "the death of an instance until the last consumer knew; deaths", "the death"},
		{discovery.Election, "ELECTIONS-KNOWN", "Elections", "the death of the leader until the last consumer knew the next one; elections", "the leader's death"},
	} {
		lines := knownByTime(columns, f.kind)
		if len(lines) == 0 {
			continue
		}
		list = append(list, figure.Figure{
			Name: f.name, Short: f.what + " known to all consumers by time after " + f.since, Kind: figure.Stairs,
			X:      figure.Axis{Label: "Time after " + f.since, Unit: "seconds"},
			Y:      figure.Axis{Label: f.what + " known to all", Unit: "%", Max: &all},
			Notes:  []string{"from " + f.from + " that were not known to all by the end of the load count as unknown"},
			Series: lines,
		})
	}
	return list
}

// knownByTime returns lines that rise to the share of changes of one kind that all consumers knew.
func knownByTime(columns []abilities.Column, kind discovery.Kind) (lines []figure.Series) {
	for _, c := range columns {
		list, _ := outcomes(c.Runs)
		for n, o := range list {
			var after []time.Duration
			for _, change := range o.Of(kind) {
				after = append(after, change.Whole)
			}
			slices.Sort(after)
			if len(after) == 0 {
				continue
			}
			line := figure.Series{Name: c.Name, Key: c.Key, Variant: c.Variant, X: []float64{0}, Y: []float64{0}}
			if len(list) > 1 {
				line.Thin, line.Statistic = true, fmt.Sprintf("trial %d", n+1)
			}
			for i, d := range after {
				line.X, line.Y = append(line.X, d.Seconds()), append(line.Y, 100*float64(i+1)/float64(o.Count(kind)))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
