package table

import (
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// clockNotes explain from when latencies count.
func clockNotes(runs []*run.Run) (notes []string) {
	var closed, rated []string
	for _, r := range runs {
		for _, g := range r.Stages {
			tag := r.Info.Tag
			if r.Rated() && r.Closed() {
				tag += " (" + g.Label + ")"
			}
			switch {
			case g.Latency.Due.N.Value <= 0, g.Latency.Clock == run.FromSentAtRate: // a gap explains that clock
			case g.Latency.Rated():
				rated = append(rated, tag)
			default:
				closed = append(closed, tag)
			}
		}
	}
	rated, closed = run.Distinct(rated), run.Distinct(closed)
	of := func(tags []string) string {
		if len(rated) == 0 || len(closed) == 0 {
			return ""
		}
		return " of " + strings.Join(tags, ", ")
	}
	if len(rated) > 0 {
		notes = append(notes, "latencies"+of(rated)+" are response times: from when a request was due, so that waiting for a free client counts; the Service rows are from when it was sent")
	}
	if len(closed) > 0 {
		notes = append(notes, "latencies"+of(closed)+" are service times of a closed loop, from when a request was sent: a client that waits for an answer sends nothing, so a stall is seen by few requests and its waiting is in no percentile; only a load with a rate measures that")
	}
	return notes
}

// releaseNotes are the notes of the releases that ran.
func releaseNotes(runs []*run.Run) (notes []string) {
	for _, r := range runs {
		for _, m := range r.Info.Record.Members {
			if m.Release == nil {
				continue
			}
			for _, note := range m.Release.Notes {
				notes = append(notes, r.Info.Tag+": "+note)
			}
		}
	}
	return run.Distinct(notes)
}
