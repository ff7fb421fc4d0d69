package faults

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

const (
	// lead and trail are the parts of the load that a picture shows before a fault and after the
	// recovery, if no other fault is within that time.
	lead  = 5 * time.Second
	trail = 3 * time.Second
	// mostPanels limits the panels in a picture.
	mostPanels = 8
)

// Figures returns a picture for each fault in the file. It overlays all repeats in all trials,
// from the moment at which the fault was requested.
func (Half) Figures(columns []abilities.Column) (out []figure.Figure) {
	var known []string
	for _, c := range columns {
		for _, g := range groups(c.Runs) {
			if !slices.Contains(known, g.name) {
				known = append(known, g.name)
			}
		}
	}
	loads := make([]load, len(columns))
	for i, c := range columns {
		loads[i] = loadOf(c)
	}
	for i, name := range known {
		if f := picture(name, columns, loads); len(f.Series) > 0 {
			f.Name = fmt.Sprintf("FAULT-%d", i+1)
			out = append(out, f)
		}
	}
	return out
}

// picture shows one fault.
func picture(name string, columns []abilities.Column, loads []load) figure.Figure {
	f := figure.Figure{
		Short: "After " + name, Kind: figure.Lines, X: figure.Axis{Label: "Time since the fault", Unit: "seconds"},
		Notes: []string{"every line is one fault: the ok requests of each tick of 100 ms, as a rate, and the p99 of each second", "reddish: the fault, until the last of its repeats was over"},
	}
	tails := 2*len(columns) <= mostPanels
	rates := len(columns)
	for _, of := range []struct {
		title string
		p99   bool
	}{{"ok requests per second", false}, {"p99 in ms", true}} {
		if of.p99 && !tails {
			break
		}
		for _, c := range columns {
			f.Panels = append(f.Panels, c.Name+", "+of.title)
			f.PanelY = append(f.PanelY, figure.Axis{Log: of.p99})
		}
	}
	for i, c := range columns {
		over := 0.0
		for n, s := range loads[i].spans(name) {
			line := figure.Series{Name: c.Name, Key: c.Key, Variant: c.Variant, Thin: true, Statistic: fmt.Sprintf("repeat %d", n+1)}
			over = max(over, s.happened.To.Sub(s.happened.From).Seconds())
			f.Series = append(f.Series, s.rate(line, i))
			if tails {
				f.Series = append(f.Series, s.p99(line, rates+i))
			}
		}
		for _, panel := range []int{i, rates + i} {
			if panel < len(f.Panels) && over > 0 {
				f.Grey = append(f.Grey, figure.Stretch{From: 0, To: over, Panel: panel, Tinted: true})
			}
		}
	}
	return f
}

// load holds the records around the faults in the runs of a database.
type load struct{ all []span }

// span is a fault with the load around it.
type span struct {
	happened    faults.Happened
	from, until time.Time
	timeline    *recovery.Timeline
	seconds     map[int64]time.Duration // p99 by unix second
}

// loadOf reads the load around the faults in some runs. Runs whose records cannot be read again are
// left out: the report names their missing records.
func loadOf(c abilities.Column) (l load) {
	for _, r := range c.Runs {
		list := happened(r)
		if len(list) == 0 || r.Dir == "" {
			continue
		}
		record := r.Info.Record
		timeline, err := recovery.Read(r.Dir, record)
		if err != nil {
			continue
		}
		spans := spansOf(list)
		times := make([]results.Stretch, len(spans))
		for i, s := range spans {
			times[i] = results.Stretch{From: s.from, Length: s.until.Sub(s.from)}
		}
		seconds, err := effect.Seconds(r.Dir, record, times)
		if err != nil {
			seconds = nil // the log was cut: the rates are still shown
		}
		for _, s := range spans {
			s.timeline, s.seconds = timeline, seconds
			l.all = append(l.all, s)
		}
	}
	return l
}

// spansOf returns the time that a picture shows for each fault in a run. No other fault lies in
// that time.
func spansOf(list []faults.Happened) (spans []span) {
	for i, h := range list {
		s := span{happened: h, from: h.From.Add(-lead), until: h.Cut().To().Add(trail)}
		if i > 0 {
			if before := list[i-1].Cut().To(); before.After(s.from) {
				s.from = before
			}
		}
		if i+1 < len(list) && list[i+1].From.Before(s.until) {
			s.until = list[i+1].From
		}
		if s.from.After(h.From) { // it overlaps with the one before
			s.from = h.From
		}
		spans = append(spans, s)
	}
	return spans
}

// spans returns the spans with ticks for the fault with a name.
func (l load) spans(name string) (list []span) {
	for _, s := range l.all {
		if nameOf(s.happened.Asked) == name && len(s.timeline.Between(s.from, s.until)) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// at returns a position on the time axis: the middle of an interval with that length. It is
// rounded, to a tenth of a tick, so that repeats of a fault share rows in the table.
func (s span) at(from time.Time, length time.Duration) float64 {
	return from.Add(length / 2).Sub(s.happened.From).Round(results.ProgressTick / 10).Seconds()
}

// rate fills in the ok requests in each tick; 0 for a tick without a row.
func (s span) rate(line figure.Series, panel int) figure.Series {
	line.Panel = panel
	var last time.Time
	for _, k := range s.timeline.Between(s.from, s.until) {
		if !last.IsZero() && k.From.Sub(last) > results.ProgressTick/2 {
			line.X = append(line.X, s.at(last, 0), s.at(k.From, 0))
			line.Y = append(line.Y, 0, 0)
		}
		last = k.From.Add(k.Length)
		if k.Length < results.ProgressTick/2 { // at the end of a step: too short for a rate
			continue
		}
		line.X = append(line.X, s.at(k.From, k.Length))
		line.Y = append(line.Y, float64(k.OK)/k.Length.Seconds())
	}
	return line
}

// p99 fills in the percentile for each second, in ms. A second without an answer is a gap.
func (s span) p99(line figure.Series, panel int) figure.Series {
	line.Panel = panel
	for second := s.from.Unix(); second <= s.until.Unix(); second++ {
		y := math.NaN()
		if p99, ok := s.seconds[second]; ok {
			y = float64(p99) / 1e6
		}
		line.X, line.Y = append(line.X, s.at(time.Unix(second, 0), time.Second)), append(line.Y, y)
	}
	return line
}
