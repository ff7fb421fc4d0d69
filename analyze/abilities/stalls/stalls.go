// Package stalls shows when far fewer requests ended ok than were due, and the events recorded at the
// same times.
package stalls

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Half shows stalls in reports.
type Half struct{}

var (
	_ abilities.Tabler = Half{}
	_ abilities.Drawer = Half{}
	_ abilities.Finder = Half{}
	_ abilities.Filer  = Half{}
)

const (
	// fileStalls is the file name suffix.
	fileStalls = "stalls.csv"
	// mentioned is the shortest stall that the first screen mentions.
	mentioned = time.Second
	// mostKinds bounds the kinds that a cell names, and mostNamed the kinds that the first screen
	// names for one stall.
	mostKinds, mostNamed = 5, 2
)

// Rows returns rows about the number of stalls and the events that coincided with them.
func (Half) Rows() []abilities.Row {
	return []abilities.Row{
		{
			Name: "STALLS", Unit: "stalls", After: "LARGEST-GAP", Cell: number,
			Definition: "stretches of the measured window in which fewer than half of the requests ended ok that were due or, in a closed loop, that end in the median tick: ticks of 100 ms, joined; their length in all, and the longest",
		},
		{
			Name: "STALLS-COINCIDED", Unit: "%", After: "STALLS", Cell: coincided,
			Definition: "share of the stalled time that coincided with events of each kind that was recorded, to a tick, beside the share of all time, and with how many stalls; p: how probable at least so much is if the stalls came at any other times, corrected for the number of kinds; below 0.01 chance is excluded, which does not say what caused what",
		},
	}
}

// number returns the stall count.
func number(r *run.Run) (run.Measure, string) {
	s := &r.Stalls
	if s.Missing != "" {
		return run.Missing("%s", s.Missing), ""
	}
	text := fmt.Sprintf("none in %s", seconds(s.Judged))
	if total, longest := s.Total(); longest != nil {
		text = fmt.Sprintf("%d, %s in all (%s of %s), longest %s, %s after the load began", len(s.List), seconds(total), share(total, s.Judged), seconds(s.Judged),
			seconds(longest.Length), seconds(longest.From.Sub(time.Unix(0, r.Origin()))))
	}
	return run.Counted(int64(len(s.List))), strings.Join(append([]string{text}, limits(s)...), "; ")
}

// limits returns the limits within which stalls were searched, because readers must know them.
func limits(s *run.Stalls) (texts []string) {
	if s.Slot > results.ProgressTick {
		texts = append(texts, fmt.Sprintf("ticks of %v, because few requests ended in 100 ms", s.Slot))
	}
	if s.Stopped > 0 {
		texts = append(texts, fmt.Sprintf("%s not judged, because this client did not run", seconds(s.Stopped)))
	}
	for _, why := range s.NotJudged {
		texts = append(texts, "steps not judged: "+why)
	}
	return texts
}

// seconds formats a time in whole ticks.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// share formats a part of a time.
func share(part, of time.Duration) string {
	return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(max(of, 1)))
}

// coincided names the events that coincided with stalls.
func coincided(r *run.Run) (run.Measure, string) {
	s := &r.Stalls
	switch {
	case s.Missing != "":
		return run.Inapplicable("%s", s.Missing), ""
	case len(s.List) == 0:
		return run.Inapplicable("there were no stalls"), ""
	}
	total, _ := s.Total()
	why := same(s.Kinds)
	var parts []string
	for i, k := range s.Kinds {
		if i == mostKinds {
			parts = append(parts, fmt.Sprintf("and %d more", len(s.Kinds)-mostKinds))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s (of all time %s; %d of %d%s)", k.Kind, share(k.Overlap, total), share(k.Covered, s.Judged), k.Stalls, len(s.List), chance(k, why != "")))
	}
	without := 0
	for _, one := range s.List {
		if len(one.Coincided) == 0 {
			without++
		}
	}
	if without > 0 {
		parts = append(parts, fmt.Sprintf("nothing that was recorded: %d of %d", without, len(s.List)))
	}
	if why != "" {
		parts = append(parts, "coincided, no p: "+why)
	}
	first := 0.0
	if len(s.Kinds) > 0 {
		first = 100 * float64(s.Kinds[0].Overlap) / float64(total)
	}
	return run.Measured(first, int64(len(s.List))), strings.Join(parts, "; ")
}

// same returns the reason why no kind has a p if all kinds have the same reason; else "".
func same(kinds []run.StallKind) (why string) {
	for i, k := range kinds {
		if i > 0 && k.Why != why {
			return ""
		}
		why = k.Why
	}
	return why
}

// chance returns the text for a kind's p, or the reason why p is missing; "" if the reason is
// stated elsewhere.
func chance(k run.StallKind, said bool) string {
	switch {
	case said:
		return ""
	case k.Why != "":
		return ", coincided, no p: " + k.Why
	}
	return fmt.Sprintf(", p %.4f", k.P)
}

// Findings returns the longest stall per database, if it lasted at least a second.
func (Half) Findings() []abilities.Finding {
	return []abilities.Finding{{Name: "stalls of a second or longer", Short: "stalls", Of: longest}}
}

// longest names the longest stall in some runs, and the events that coincided with it.
func longest(runs []*run.Run) string {
	var most *run.Stall
	var of *run.Stalls
	all := 0
	for _, r := range runs {
		all += len(r.Stalls.List)
		if _, one := r.Stalls.Total(); one != nil && (most == nil || one.Length > most.Length) {
			most, of = one, &r.Stalls
		}
	}
	if most == nil || most.Length < mentioned {
		return ""
	}
	var names []string
	for _, o := range most.Coincided[:min(len(most.Coincided), mostNamed)] {
		name := o.Kind
		for _, k := range of.Kinds {
			if k.Kind == o.Kind && k.Excludes() {
				name += fmt.Sprintf(" (p %.4f)", k.P)
			}
		}
		names = append(names, name)
	}
	with := run.Nothing
	if len(names) > 0 {
		with = strings.Join(names, " and ")
	}
	return fmt.Sprintf("%d, longest %s, coincided with %s", all, seconds(most.Length), with)
}

// FileNames returns the file names.
func (Half) FileNames() []string { return []string{fileStalls} }

// Files returns one file with a line for each stall and each kind that coincided with it.
func (Half) Files(r *run.Run) []abilities.File {
	s := &r.Stalls
	if len(s.List) == 0 {
		return nil
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	records := [][]string{{"stall", "step", "from_seconds", "length_seconds", "ok", "expected", "coincided", "overlap_seconds", "kind_stalls", "kind_p", "kind_without_p"}}
	for i, one := range s.List {
		row := []string{
			strconv.Itoa(i + 1), strconv.Itoa(one.Step), number(one.From.Sub(time.Unix(0, r.Origin())).Seconds()), number(one.Length.Seconds()),
			strconv.FormatInt(one.OK, 10), strconv.FormatInt(one.Expected, 10),
		}
		if len(one.Coincided) == 0 {
			records = append(records, append(row, "", "0", "", "", ""))
		}
		for _, o := range one.Coincided {
			for _, k := range s.Kinds {
				if k.Kind != o.Kind {
					continue
				}
				p := ""
				if k.Why == "" {
					p = number(k.P)
				}
				records = append(records, append(row[:len(row):len(row)], k.Kind, number(o.Length.Seconds()), strconv.Itoa(k.Stalls), p, k.Why))
			}
		}
	}
	return []abilities.File{{Name: fileStalls, Records: records}}
}
