// Package deaths shows how late a database noticed that session holders were dead.
package deaths

import (
	"fmt"
	"slices"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/deaths"
	"github.com/coreos/dbtester/pkg/results"
)

// Half shows the deaths in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Sayer  = Half{}
	_ abilities.Carder = Half{}
	_ abilities.Actor  = Half{}
	_ abilities.Drawer = Half{}
)

// Name is the experiment kind.
func (Half) Name() string { return "deaths" }

// Acted reports whether holders died during the load.
func (Half) Acted(r *run.Run) bool {
	o, err := deaths.Record().Of(r.Info.Record.Records)
	return err == nil && o.Abandoned > 0
}

// Rows returns the rows about sessions, and about the load while they ended.
func (Half) Rows() []abilities.Row {
	row := func(name, after, unit, definition string, of func(*deaths.Outcome) (run.Measure, string)) abilities.Row {
		return abilities.Row{Name: name, Unit: unit, After: after, Definition: definition, Cell: cell(of)}
	}
	return []abilities.Row{
		row("SESSIONS", "LOST-WRITES", "sessions", "sessions that were held during the load, with the TTL that members granted, the database's rule for their end, and how many were granted a second with their keys", held),
		row("SESSION-RENEWALS", "SESSIONS", "renewals", "renewals of sessions that were answered, their response times, and how many were not answered or were sent late by this client", renewals),
		row("SESSIONS-EXPIRED-LATE", "SESSION-RENEWALS", "ms", "time from the end of the TTL, counted from the last renewal, until all keys of a session were gone, after its holder had died: the median. Where they differ by more than 1 % of the TTL, the least time stands before it, counted from the answer to the last renewal and up to when the keys were seen for the last time", late),
		row("SESSIONS-EXPIRED", "SESSIONS-EXPIRED-LATE", "sessions", "sessions whose keys were gone by the end of the load, at which rate, and how many ended before the rule allows, which makes the run invalid", expired),
		row("WRITES-MEANWHILE", "SESSIONS-EXPIRED", "ms", "p99 of the requests of the load that ended ok in the seconds in which sessions ended, beside that before the first holder died", meanwhile),
	}
}

// cell returns a function that formats a part in the record.
func cell(of func(*deaths.Outcome) (run.Measure, string)) func(*run.Run) (run.Measure, string) {
	return func(r *run.Run) (run.Measure, string) {
		o, err := deaths.Record().Of(r.Info.Record.Records)
		switch {
		case err != nil:
			return run.Missing("%v", err), ""
		case o.Granted == 0:
			return run.Inapplicable("no sessions were held"), ""
		}
		return of(&o)
	}
}

func held(o *deaths.Outcome) (run.Measure, string) {
	text := fmt.Sprintf("%s, TTL %v", humanize.Comma(int64(o.Granted)), o.TTL)
	if o.TTL != o.Plan.TTL {
		text += fmt.Sprintf(" (asked %v)", o.Plan.TTL)
	}
	text += fmt.Sprintf("; a %s ends %s; %.0f granted/s", o.What, o.Rule, o.GrantsPerSecond)
	if o.NotGranted > 0 {
		text += fmt.Sprintf("; %s not granted: %s", humanize.Comma(int64(o.NotGranted)), o.Why)
	}
	return run.Counted(int64(o.Granted)), text
}

func renewals(o *deaths.Outcome) (run.Measure, string) {
	if o.Keeps == nil {
		return run.Missing("no renewal was answered"), ""
	}
	parts := []string{humanize.Comma(o.Keeps.N)}
	if o.Keeps.Enough(.5) {
		parts = append(parts, "p50 "+ms(o.Keeps.P50))
	}
	if o.Keeps.Enough(.99) {
		parts = append(parts, "p99 "+ms(o.Keeps.P99))
	}
	parts = append(parts, "longest "+ms(o.Keeps.Max), fmt.Sprintf("%s lost", humanize.Comma(o.KeepsLost)), fmt.Sprintf("%s sent late", humanize.Comma(o.KeepsLate)))
	return run.Counted(o.Keeps.N), strings.Join(parts, ", ") + "; by " + o.Renewal
}

// ms formats a time in milliseconds.
func ms(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

// seconds formats a time, as an interval if its ends differ by more than 1 % of the TTL. A time
// below the resolution at which the client observes is only an upper bound.
func seconds(o *deaths.Outcome, least, most int64) string {
	switch {
	case time.Duration(most-least) > o.TTL/100:
		return fmt.Sprintf("%.2f..%.2f s", float64(least)/1e9, float64(most)/1e9)
	case o.Resolution > 0 && most <= int64(o.Resolution):
		return fmt.Sprintf("<= %.3f s", float64(o.Resolution)/1e9)
	}
	return fmt.Sprintf("%.3f s", float64(most)/1e9)
}

func late(o *deaths.Outcome) (run.Measure, string) {
	if o.Late == nil {
		return run.Inapplicable("no session expired"), ""
	}
	var parts []string
	for _, q := range []struct {
		name string
		at   float64
		of   func(*results.Spread) int64
	}{
		{"p50", .5, func(s *results.Spread) int64 { return s.P50 }},
		{"p99", .99, func(s *results.Spread) int64 { return s.P99 }},
		{"longest", 0, func(s *results.Spread) int64 { return s.Max }},
	} {
		if q.at == 0 || o.Late.Enough(q.at) {
			parts = append(parts, q.name+" "+seconds(o, q.of(o.LateLeast), q.of(o.Late)))
		}
	}
	text := strings.Join(parts, ", ") + "; seen by " + o.Watch
	if o.Delayed > 0 {
		text += fmt.Sprintf("; %d were read after a stop of this client of at most %v", o.Delayed, o.LongestStop.Round(time.Millisecond))
	}
	return run.Measure{Value: float64(o.Late.P50) / 1e6, N: o.Late.N}, text
}

func expired(o *deaths.Outcome) (run.Measure, string) {
	if o.Abandoned == 0 && o.Early == 0 {
		return run.Inapplicable("no holder died"), ""
	}
	text := fmt.Sprintf("%s of %s", humanize.Comma(int64(o.Expired)), humanize.Comma(int64(o.Abandoned)))
	if o.AllGone > 0 {
		text += fmt.Sprintf(", the last %.1f s after the first death", o.AllGone.Seconds())
		if o.Machines > 1 {
			text += fmt.Sprintf(" (of %d machines, whose clocks are known to %v)", o.Machines, o.ClockError.Round(time.Microsecond))
		}
	}
	if o.PerSecond > 0 {
		text += fmt.Sprintf(", %.0f/s", o.PerSecond)
	}
	if o.NotExpired > 0 {
		text += fmt.Sprintf("; %s were left at the end of the load", humanize.Comma(int64(o.NotExpired)))
	}
	text += fmt.Sprintf("; %d early", o.Early)
	return run.Counted(int64(o.Expired)), text
}

func meanwhile(o *deaths.Outcome) (run.Measure, string) {
	if o.Before == nil || o.During == nil {
		return run.Inapplicable("no requests ended ok both before the deaths and while sessions ended"), ""
	}
	return run.Measure{Value: float64(o.During.P99) / 1e6, N: o.During.Requests},
		fmt.Sprintf("p99 %s in %d s, before %s in %d s", ms(int64(o.During.P99)), o.During.Seconds, ms(int64(o.Before.P99)), o.Before.Seconds)
}

// outcomes returns outcomes from runs in which holders died.
func outcomes(runs []*run.Run) (list []deaths.Outcome) {
	for _, r := range runs {
		if o, err := deaths.Record().Of(r.Info.Record.Records); err == nil && o.Abandoned > 0 {
			list = append(list, o)
		}
	}
	return list
}

// Say returns the sentence about when all keys were gone.
func (Half) Say(names []string, runs [][]*run.Run) string {
	granted := grantedBy(names, runs)
	var asked, parts []string
	for i, name := range names {
		for _, o := range outcomes(runs[i]) {
			how := string(o.Plan.Release)
			if o.Plan.Release == deaths.AllAtOnce {
				how = "at once"
			}
			text := fmt.Sprintf("%s clients die %s (TTL %v%s)", humanize.Comma(int64(o.Abandoned)), how, o.Plan.TTL, granted)
			if !slices.Contains(asked, text) {
				asked = append(asked, text)
			}
			parts = append(parts, name+" "+allGone(&o))
		}
	}
	return strings.Join(asked, ", ") + ": all their keys are gone after " + strings.Join(parts, ", ") + "."
}

// grantedBy is the part of the sentence that states whether the databases granted the requested
// TTLs or, if not, which TTLs they granted.
func grantedBy(names []string, runs [][]*run.Run) string {
	var others []string
	some := 0
	for i, name := range names {
		for _, o := range outcomes(runs[i]) {
			some++
			if text := fmt.Sprintf("%s %v", name, o.TTL); o.TTL != o.Plan.TTL && !slices.Contains(others, text) {
				others = append(others, text)
			}
		}
	}
	switch {
	case len(others) > 0:
		return ", granted by " + strings.Join(others, ", ")
	case some > 1:
		return ", which all grant"
	}
	return ""
}

// allGone is when all session keys were gone.
func allGone(o *deaths.Outcome) string {
	if o.NotExpired > 0 {
		return fmt.Sprintf("more than the load had time for (%s of %s left)", humanize.Comma(int64(o.NotExpired)), humanize.Comma(int64(o.Abandoned)))
	}
	return fmt.Sprintf("%.1f s", o.AllGone.Seconds())
}

// Card is the first screen for loads in which holders died: when the keys were gone, and the
// settings that decide it.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	rows := []struct {
		name string
		of   func(*deaths.Outcome) string
	}{
		{"all keys gone after", allGone},
		{"TTL granted", func(o *deaths.Outcome) string { return o.TTL.String() }},
		{"later than the TTL, p50", func(o *deaths.Outcome) string {
			if o.Late == nil {
				return "-"
			}
			return seconds(o, o.LateLeast.P50, o.Late.P50)
		}},
		{"  longest", func(o *deaths.Outcome) string {
			if o.Late == nil {
				return "-"
			}
			return seconds(o, o.LateLeast.Max, o.Late.Max)
		}},
		{"ends/s", func(o *deaths.Outcome) string {
			if o.PerSecond == 0 {
				return "-"
			}
			return fmt.Sprintf("%.0f", o.PerSecond)
		}},
		{"ended early", func(o *deaths.Outcome) string { return fmt.Sprint(o.Early) }},
		{"p99 of requests meanwhile (before)", func(o *deaths.Outcome) string {
			if o.Before == nil || o.During == nil {
				return "-"
			}
			return fmt.Sprintf("%s (%s)", ms(int64(o.During.P99)), ms(int64(o.Before.P99)))
		}},
	}
	card := &abilities.Card{Head: append([]string{"dead clients"}, names...)}
	for _, r := range rows {
		cells := []string{r.name}
		for i := range names {
			text := "-"
			if list := outcomes(runs[i]); len(list) > 0 {
				text = r.of(&list[0])
			}
			cells = append(cells, text)
		}
		card.Rows = append(card.Rows, cells)
	}
	found := false
	for i, name := range names {
		list := outcomes(runs[i])
		if len(list) == 0 {
			continue
		}
		found = true
		o := list[0]
		note := fmt.Sprintf("%s: a %s ends %s; renewed by %s", name, o.What, o.Rule, o.Renewal)
		if o.Expired > 0 { // the record has the last renewals in sessions that ended
			note += fmt.Sprintf(", the last renewals within %.1f s", float64(o.RenewedNS)/1e9)
		}
		note += "; seen by " + o.Watch
		if o.Resolution > 0 {
			note += fmt.Sprintf(", at most %v apart", o.Resolution.Round(time.Millisecond))
		}
		if len(list) > 1 {
			note += fmt.Sprintf("; the first of %d trials", len(list))
		}
		card.Notes = append(card.Notes, note)
	}
	if !found {
		return nil
	}
	return card
}
