package table

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	humanize "github.com/dustin/go-humanize"
)

// availabilityRows are next to the headline. They show the answered part of the load.
func availabilityRows() []Row {
	of := func(get func(*run.Availability) Cell) func(*run.Run) Cell {
		return byStage(func(g *run.Stage) Cell { return get(&g.Availability) })
	}
	return []Row{
		{Name: "SUCCESS", Unit: "%", Ours: true, Definition: "requests that ended ok / requests that were due (closed loop: sent), in the measured window",
			Cell: of(func(a *run.Availability) Cell {
				return cellOf(a.Success, func(v float64) string {
					return fmt.Sprintf("%s of %s", PercentOf(v), humanize.Comma(a.Success.N))
				}).verbatim()
			})},
		{Name: "DECLINED", Unit: "requests", Ours: true, Definition: "requests due in the measured window that did not end ok because a swap or txn lost its race, or the load had deleted the key; the database answered them, so they have a latency; they are also counted in FAILED",
			Cell: of(func(a *run.Availability) Cell { return cellOf(a.Declined, commaText) })},
		{Name: "WITHOUT-SERVER-SHARE", Unit: "%", Ours: true, Definition: "time for which clients had no server because their connection was refused or broken, divided by clients x measured window; a client waits before it reconnects, and sends nothing while it waits",
			Cell: of(func(a *run.Availability) Cell { return cellOf(a.WithoutServer, percentText) })},
		{Name: "LARGEST-GAP", Unit: "ms", Ours: true, Definition: "longest time without an ok answer in the measured window, and its start after the load began; the window's start and end count as answers; <= 100 ms: no gap was longer",
			Cell: of(func(a *run.Availability) Cell {
				return cellOf(a.Gap, func(v float64) string {
					if a.Gap.High > 0 {
						return fmt.Sprintf("<= %.0f ms", v)
					}
					return fmt.Sprintf("%.1f ms (%s)", v, a.GapAt)
				}).verbatim()
			})},
		{section: sectionConditions, Name: "EXPECT", Ours: true, Definition: "shares of failed and unknown requests, and the number of lost servers, that the experiment file expects: up to these, failures do not weaken the verdict", Cell: expectation},
	}
}

// PercentOf formats a percentage. A value just below 100 is not rounded to 100.
func PercentOf(v float64) string {
	if v < 100 && v > 99.99 {
		return fmt.Sprintf("%.4f %%", v)
	}
	return percentText(v)
}

func expectation(r *run.Run) Cell {
	e := r.Info.Record.Load.Expect
	var parts []string
	if e.Failed > 0 {
		parts = append(parts, fmt.Sprintf("failed up to %g %%", float64(e.Failed)))
	}
	if e.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("unknown up to %g %%", float64(e.Unknown)))
	}
	if e.LostServers > 0 {
		parts = append(parts, fmt.Sprintf("servers lost up to %d", e.LostServers))
	}
	if len(parts) == 0 {
		return inapplicable("the experiment file expects no failures")
	}
	return Cell{Text: strings.Join(parts, ", ")}
}

func reconnects(r *run.Run) Cell {
	return byStage(func(g *run.Stage) Cell {
		a := &g.Availability
		return cellOf(a.Reconnects, func(v float64) string {
			return fmt.Sprintf("%s, %s lost", commaText(v), commaText(a.ConnectionsLost.Value))
		}).verbatim()
	})(r)
}

// placeRows show where the requests went, with one set of rows per member and role.
func placeRows(runs []*run.Run) (out []Row) {
	var names []string
	recorded := false
	for _, r := range runs {
		for _, g := range r.Stages {
			recorded = recorded || g.Places.Missing.Missing != "" && !r.Info.Limited
			for _, p := range g.Places.List {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 && recorded {
		return []Row{{Name: "REQUESTS-BY-MEMBER", Unit: "requests", Ours: true, Definition: "measured requests, by the member they were sent to",
			Cell: byStage(func(g *run.Stage) Cell { return cellOf(g.Places.Missing, commaText) })}}
	}
	for _, name := range run.Distinct(names) {
		out = append(out, rowsOfPlace(name)...)
	}
	return out
}

func rowsOfPlace(name string) []Row {
	of := func(get func(*run.Place) Cell) func(*run.Run) Cell {
		return byStage(func(g *run.Stage) Cell {
			if p := g.Places.Of(name); p != nil {
				return get(p)
			}
			if g.Places.Missing.Missing != "" {
				return cellOf(g.Places.Missing, commaText)
			}
			return inapplicable("its cluster had no such member")
		})
	}
	at := name + ": "
	return []Row{
		{Name: at + "REQUESTS", Unit: "requests", Ours: true, Definition: "measured requests that were sent to it and ended ok, their share of all that were sent, and those that did not end ok",
			Cell: of(func(p *run.Place) Cell {
				c := cellOf(p.Share, func(v float64) string { return placeText(p, v) }).verbatim()
				if c.Value != nil {
					ok := float64(p.OK)
					c.Value = &ok
				}
				return c
			})},
		{Name: at + "AVG-LATENCY", Unit: "ms", Ours: true, Definition: "AVG-LATENCY of its requests", Cell: of(func(p *run.Place) Cell { return cellOf(p.Mean, millisText) })},
		{Name: at + "Latency p99, ok only", Unit: "ms", Ours: true, Definition: "latency that 99 % of its requests that ended ok did not exceed, to two digits", Cell: of(func(p *run.Place) Cell { return percentile(p.P99) })},
	}
}

func placeText(p *run.Place, share float64) string {
	text := fmt.Sprintf("%s ok (%.1f %%)", humanize.Comma(p.OK), share)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %s failed", humanize.Comma(p.Failed))
	}
	if p.Unknown > 0 {
		text += fmt.Sprintf(", %s unknown", humanize.Comma(p.Unknown))
	}
	return text
}
