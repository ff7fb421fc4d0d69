package chart

import (
	"slices"
	"strings"

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

// shownAs returns the kind as which figures mark an event; "" if they do not.
func shownAs(e results.Event) string {
	if strings.HasPrefix(e.Kind, "snapshot") {
		return "snapshot"
	}
	return shownEvents()[e.Kind]
}

// markEvents marks events during the loads of a figure's runs.
func (d *Data) markEvents(f *figure.Figure, runs ...*run.Run) {
	for _, r := range runs {
		key := 0
		if d.several(runs) && len(f.Panels) == 0 {
			key = d.lookOf(r).key
		}
		bands := disturbed(r, d.place(r))
		if f.Grey = append(f.Grey, bands...); len(bands) > 0 && !slices.Contains(f.Notes, tintedNote) {
			f.Notes = append(f.Notes, tintedNote)
		}
		for _, e := range r.Machines.Events {
			if kind := shownAs(e); kind != "" {
				f.Events = append(f.Events, figure.Event{X: elapsedAt(r, e.Time), Kind: kind, Key: key, Panel: d.place(r)})
			}
		}
	}
}

// tintedNote explains tinted areas.
const tintedNote = "reddish: from when a fault was asked for until it was over"

// disturbed returns the times in which something was done to members of a run on purpose, on its
// time axis.
func disturbed(r *run.Run, panel int) (bands []figure.Stretch) {
	began := map[int]float64{} // by member
	for _, e := range r.Machines.Events {
		switch at, open := began[e.Member]; {
		case e.Kind == "fault":
			began[e.Member] = elapsedAt(r, e.Time)
		case e.Kind == "fault over" && open:
			bands = append(bands, figure.Stretch{From: at, To: elapsedAt(r, e.Time), Panel: panel, Tinted: true})
			delete(began, e.Member)
		}
	}
	return bands
}
