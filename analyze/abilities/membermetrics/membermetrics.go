// Package membermetrics shows how often control read the metrics that members report about
// themselves.
package membermetrics

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/membermetrics"
)

// Half shows reads of member metrics in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Setter = Half{}
)

// Settings marks the reading period as a setting that cannot have changed a number: a request takes
// a member some milliseconds, every few seconds.
func (Half) Settings() map[string]func(*run.Run) bool {
	never := func(*run.Run) bool { return false }
	return map[string]func(*run.Run) bool{"scrape.every": never, "scrape.url": never}
}

// Rows returns one row, for runs on clusters without agents.
func (Half) Rows() []abilities.Row {
	return []abilities.Row{{
		After: "MEMBER-METRICS-COST", Name: "MEMBER-METRICS-PERIOD", Unit: "s", Cell: cell,
		Definition: "time between two requests of control for a member's own metrics, on a cluster without agents, and how many were answered; where rows say once a second, these say once in this time",
	}}
}

// cell adds the counts at all members.
func cell(r *run.Run) (run.Measure, string) {
	var sum membermetrics.Scraped
	for _, m := range r.Info.Record.Members {
		one, err := membermetrics.Record().Of(m.Records)
		if err != nil {
			return run.Missing("%v", err), ""
		}
		sum.Every = max(sum.Every, one.Every)
		sum.Answered += one.Answered
		sum.Unanswered += one.Unanswered
	}
	if sum.Every == 0 {
		return run.Inapplicable("control did not ask the members"), ""
	}
	return run.Measured(sum.Every.Seconds(), sum.Answered+sum.Unanswered), fmt.Sprintf("%v (%d of %d answered)", sum.Every, sum.Answered, sum.Answered+sum.Unanswered)
}
