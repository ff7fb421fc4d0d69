package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/stats/order"
	"github.com/coreos/dbtester/pkg/workload"
)

// Card is the first screen for loads with faults: the longest time in which the load got no answer,
// by fault and database, and the settings that decide it.
func (Half) Card(names []string, runs [][]*run.Run) *abilities.Card {
	card := &abilities.Card{Head: append([]string{"longest time in which the load got no answer"}, names...)}
	byColumn := make([][]group, len(runs))
	var labels []string
	for i, of := range runs {
		byColumn[i] = groups(of)
		for _, g := range byColumn[i] {
			if !slices.Contains(labels, g.name) {
				labels = append(labels, g.name)
			}
		}
	}
	if len(labels) == 0 {
		return nil
	}
	add := func(label, of string, q quantity) {
		row := []string{label}
		for _, list := range byColumn {
			text := "-"
			if i := slices.IndexFunc(list, func(g group) bool { return g.name == of }); i >= 0 {
				text = list[i].median(q).short(q)
			}
			row = append(row, text)
		}
		card.Rows = append(card.Rows, row)
	}
	for _, label := range labels {
		add(label, label, blackout())
		detail := func(text string, q quantity) { add(abilities.Indent+text, label, q) }
		detail("new clients of any member", silence())
		detail("new clients of that member", own())
		detail("until 95 % of the load before", to95())
		detail("until nothing waits that was due", backlog())
		detail("failed or unknown requests", lost())
		detail("p99 meanwhile", p99())
	}
	if note := basis(byColumn); note != "" {
		card.Notes = append(card.Notes, note)
	}
	for i, name := range names {
		card.Notes = append(card.Notes, fmt.Sprintf("%s: %s; %s%s", name, settings(runs[i]), cut(runs[i]), tapNote(runs[i])))
	}
	return card
}

// basis explains the numbers in brackets; "" if there are no such numbers.
func basis(columns [][]group) string {
	coverage := map[int]float64{} // coverage of the medians by repeat count
	for _, list := range columns {
		for _, g := range list {
			if m := g.median(blackout()); m.N > 1 {
				coverage[m.N] = m.Coverage
			}
		}
	}
	repeats := slices.Sorted(maps.Keys(coverage))
	switch {
	case len(repeats) == 0:
		return ""
	case repeats[0] < order.Least:
		return fmt.Sprintf("Medians and, in brackets, ranges of %d repeats or more: from %d on there are intervals.", repeats[0], order.Least)
	}
	var parts []string
	for _, n := range repeats {
		parts = append(parts, fmt.Sprintf("%.1f %% of %d", 100*coverage[n], n))
	}
	return fmt.Sprintf("Medians of repeats and, in brackets, intervals of order statistics. They cover the median with %s repeats.", strings.Join(parts, ", "))
}

// cut states which part of the loads was not judged.
func cut(runs []*run.Run) string {
	n, length := 0, time.Duration(0)
	for _, r := range runs {
		for _, h := range happened(r) {
			n, length = n+1, length+h.Cut().Length
		}
	}
	return fmt.Sprintf("judged outside %v of faults and recoveries (%d)", length.Round(100*time.Millisecond), n)
}

// failedBack states where connections that had failed over were when the next fault began; "" if no
// fault followed another.
func failedBack(runs []*run.Run) string {
	followed, asked, away := 0, 0, 0
	for _, r := range runs {
		list := happened(r)
		for i, h := range list {
			switch {
			case i+1 == len(list) || h.Number == list[i+1].Number && h.Repeat == list[i+1].Repeat: // the next member's turn
				continue
			case h.Returned != nil:
				asked++
				if h.Away > 0 {
					away++
				}
			}
			followed++
		}
	}
	switch {
	case followed == 0 || runs[0].Info.Record.Load.Load.Failover != workload.FailoverNext:
		return ""
	case asked == 0:
		return ", and connections stay there"
	case asked == followed && away == 0:
		return ", and back before the next fault"
	}
	return fmt.Sprintf(", and back before %d of %d next faults", asked-away, followed)
}

// decisive are parts of option names that decide when a lost member is detected.
var decisive = []string{"election", "heartbeat", "tick", "multiplier", "limit", "timeout", "time_out", "failover"}

// settings returns the settings that decide when a cluster detects a lost member, and when a client
// tries another one.
func settings(runs []*run.Run) string {
	if len(runs) == 0 {
		return "none recorded"
	}
	record := runs[0].Info.Record
	load := record.Load.Load
	parts := []string{fmt.Sprintf("%d members", len(record.Members)), fmt.Sprintf("requests time out after %v", load.Timeout)}
	if load.Failover != "" {
		parts = append(parts, fmt.Sprintf("failover %s%s", load.Failover, failedBack(runs)))
	}
	if record.Durability != "" {
		parts = append(parts, string(record.Durability))
	}
	for _, name := range slices.Sorted(maps.Keys(record.OptionTexts)) {
		lower := strings.ToLower(name)
		if slices.ContainsFunc(decisive, func(word string) bool { return strings.Contains(lower, word) }) {
			parts = append(parts, name+" "+record.OptionTexts[name])
		}
	}
	return strings.Join(parts, ", ")
}
