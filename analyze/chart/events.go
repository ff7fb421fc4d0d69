package chart

import (
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// shownEvents maps event kinds to the kinds marked in figures over time. Logs contain many more
// kinds than a figure has room for.
func shownEvents() map[string]string {
	return map[string]string{
		"leader lost": "leader lost", "quorum lost": "leader lost",
		results.EventLeader: "leader elected", "leader elected": "leader elected", "leader changed": "leader elected", "election won": "leader elected",
		"slow fsync": "slow fsync", "slow fdatasync": "slow fsync",
		"child died": "fault", "server lost": "fault", "out of memory": "fault", "no space": "fault", "proxy panicked": "fault",
		results.EventGeneratorLost: "fault", "fault": "fault", "fault over": "fault over",
		results.EventConnectionLost: "connection lost",
		"paused":                    "paused",
	}
}

// shownAs returns the kind under which figures mark an event; "" if they do not.
func shownAs(e results.Event) string {
	if strings.HasPrefix(e.Kind, "snapshot") {
		return "snapshot"
	}
	return shownEvents()[e.Kind]
}

// markEvents marks events during the loads that a figure shows.
func (d *Data) markEvents(f *figure.Figure, runs ...*run.Run) {
	for _, r := range runs {
		key := 0
		if d.several(runs) && len(f.Panels) == 0 {
			key = d.lookOf(r).key
		}
		tint(f, r, d.place(r))
		for _, e := range r.Machines.Events {
			if kind := shownAs(e); kind != "" {
				f.Events = append(f.Events, figure.Event{X: elapsedAt(r, e.Time), Kind: kind, Key: key, Panel: d.place(r)})
			}
		}
	}
}

// tint marks the times in a panel when abilities disturbed a run, and notes their meaning.
func tint(f *figure.Figure, r *run.Run, panel int) {
	for _, half := range all.Halves() {
		disturber, ok := half.(abilities.Disturber)
		if !ok {
			continue
		}
		times, meaning := disturber.Disturbed(r)
		for _, t := range times {
			f.Grey = append(f.Grey, figure.Stretch{From: elapsedAt(r, t.From), To: elapsedAt(r, t.To), Panel: panel, Tinted: true})
		}
		if len(times) > 0 && !slices.Contains(f.Notes, meaning) {
			f.Notes = append(f.Notes, meaning)
		}
	}
}
