package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/stats/order"
)

// group is one fault in the file with all its repeats, in all trials.
type group struct {
	number int
	name   string
	of     []faults.Happened
}

// groups returns the faults in some runs of one database by their numbers in the file.
func groups(runs []*run.Run) []group {
	var all []faults.Happened
	for _, r := range runs {
		all = append(all, happened(r)...)
	}
	return grouped(all)
}

// grouped returns faults by their numbers in the file.
func grouped(all []faults.Happened) (list []group) {
	for _, h := range all {
		i := slices.IndexFunc(list, func(g group) bool { return g.number == h.Number })
		if i < 0 {
			i, list = len(list), append(list, group{number: h.Number, name: nameOf(h.Asked)})
		}
		list[i].of = append(list[i].of, h)
	}
	slices.SortFunc(list, func(a, b group) int { return a.number - b.number })
	return list
}

// membersOf describes the members that the file names.
func membersOf(target string) string {
	switch target {
	case faults.Each:
		return "each member"
	case faults.All:
		return "all members"
	case faults.Followers:
		return "followers"
	}
	if _, err := strconv.Atoi(target); err == nil {
		return "member " + target
	}
	return "the " + target
}

// nameOf returns a name such as "kill of the leader for 10s", which follows "after".
func nameOf(h faults.Asked) string {
	if h.Kind == faults.Command {
		return fmt.Sprintf("%s for %v", faults.Argv(h.Run), h.For)
	}
	who := membersOf(h.Target)
	text := h.Kind + " of " + who
	switch {
	case h.Kind == "power":
		text = "power cut of " + who
	case h.Version != "" && h.Target == faults.Each:
		text = "rolling upgrade to " + h.Version
	case h.Version != "":
		text = "upgrade of " + who + " to " + h.Version
	case h.Kind == "restart" && h.Target == faults.Each:
		text = "rolling restart"
	case h.Fsync == "stall":
		text = "stalled disk of " + who
	case h.Fsync == "EIO" || h.Fsync == "ENOSPC":
		text = "disk of " + who + " that fails with " + h.Fsync
	case h.Fsync != "":
		text = "disk of " + who + " that is " + h.Fsync + " slower"
	}
	if h.For > 0 {
		text += fmt.Sprintf(" for %v", h.For)
	}
	if h.Detail != "" {
		text += ", " + h.Detail
	}
	return text
}

// quantity is a number about one fault.
type quantity struct {
	unit string
	// of returns the number, and false without one. endless means that the time had not come when
	// the observation ended, so the number is only a lower bound.
	of func(faults.Happened) (is float64, endless, ok bool)
}

// timeOf returns a time in seconds; a time that did not come lasts as long as the observation.
func timeOf(of func(faults.Happened) (time.Duration, bool)) quantity {
	return quantity{unitSeconds, func(h faults.Happened) (float64, bool, bool) {
		if h.Recovery == nil {
			return 0, false, false
		}
		d, ok := of(h)
		if d < 0 {
			return h.Recovery.Until.Sub(h.From).Seconds(), true, ok
		}
		return d.Seconds(), false, ok
	}}
}

func blackout() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.Recovery.Blackout, true })
}

func below() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.Recovery.Below, true })
}

func to95() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.Recovery.To95, true })
}

func backlog() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.Recovery.BacklogGone, true })
}

// silence measures the longest time without an answered probe to any member, and own the same for
// the member with the fault.
func silence() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return silenceOf(h, 0) })
}

func own() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) {
		if h.Member < 0 { // no member could be found
			return 0, false
		}
		return silenceOf(h, h.Member+1)
	})
}

func silenceOf(h faults.Happened, member int) (time.Duration, bool) {
	for _, s := range h.Silences {
		if s.Member == member {
			return s.Longest, true
		}
	}
	return 0, false
}

// back is the time from when a fault ends until a new client of its member was answered.
func back() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.Back, len(h.Silences) > 0 && h.Member >= 0 })
}

func leaders() quantity {
	return quantity{"changes", func(h faults.Happened) (float64, bool, bool) { return float64(h.Leaders), false, h.Recovery != nil }}
}

// p99 is the 99th percentile over the requests that ended ok until the load had recovered.
func p99() quantity {
	return timeOf(func(h faults.Happened) (time.Duration, bool) { return h.P99, h.P99 > 0 })
}

func lost() quantity {
	return quantity{"requests", func(h faults.Happened) (float64, bool, bool) {
		if h.Recovery == nil {
			return 0, false, false
		}
		return float64(h.Recovery.Failed + h.Recovery.Unknown), !h.Recovery.Recovered, true
	}}
}

// summary is the median of a quantity over a group.
type summary struct {
	order.Median
	// endless counts the values that are lower bounds.
	endless int
}

// median summarizes a quantity over a group.
func (g group) median(q quantity) (s summary) {
	var values []float64
	for _, h := range g.of {
		if is, endless, ok := q.of(h); ok {
			values = append(values, is)
			if endless {
				s.endless++
			}
		}
	}
	s.Median = order.Of(values)
	return s
}

// text returns text such as "2.01 s (1.98 to 2.06, 96.9 % of 6)". It states if the median is only a
// lower bound.
func (s summary) text(q quantity) string {
	switch {
	case s.N < 2:
		return s.short(q)
	case s.Coverage == 0:
		return fmt.Sprintf("%s, all %d)", strings.TrimSuffix(s.short(q), ")"), s.N)
	}
	return fmt.Sprintf("%s, %.1f %% of %d)", strings.TrimSuffix(s.short(q), ")"), 100*s.Coverage, s.N)
}

// unitSeconds is the unit for times.
const unitSeconds = "seconds"

// alone returns text such as "2.01 s".
func (s summary) alone(q quantity) string {
	if s.N == 0 {
		return "not known"
	}
	text := q.number(s.Is)
	if q.unit == unitSeconds {
		text += " s"
	}
	if 2*s.endless > s.N {
		text = "over " + text
	}
	return text
}

// number returns text such as "2.01", with as many decimals as the quantity has.
func (q quantity) number(is float64) string {
	digits := 0
	if q.unit == unitSeconds {
		digits = 2
	}
	return strconv.FormatFloat(is, 'f', digits, 64)
}

// short returns text such as "2.01 s (1.98 to 2.06)".
func (s summary) short(q quantity) string {
	text := s.alone(q)
	if s.N > 1 {
		text += fmt.Sprintf(" (%s to %s)", q.number(s.Low), q.number(s.High))
	}
	return text
}
