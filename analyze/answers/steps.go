package answers

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// fell is the share of the highest throughput in a column below which its throughput at the largest
// point counts as a fall.
const fell = .9

// staged reports whether every load has several stages.
func (s *screen) staged() bool { return s.every((*run.Run).Staged) }

// saySteps compares the columns at the largest point, and states the number of points at which the
// winner leads and where throughput fell.
func (s *screen) saySteps() string {
	first := s.columns[0].Runs[0]
	like := first.Stages[s.stage(first)]
	point := pointText(like)
	if len(s.columns) == 1 {
		return with(point) + s.alone(like) + s.peaks(like)
	}
	if like.Latency.Rated() {
		return s.sayRates(first, like)
	}
	text := with(point) + s.order(s.all(), throughputPhrases(s.requests()), point)
	return text + s.leads(first) + s.peaks(like)
}

// with begins a sentence about a point: "with 100 clients ", "at 1,000/s ".
func with(point string) string {
	switch {
	case point == "":
		return ""
	case strings.Contains(point, "client"):
		return "with " + point + " "
	}
	return "at " + point + " "
}

// peaks names the columns whose throughput fell before the largest point.
func (s *screen) peaks(like *run.Stage) string {
	var parts []string
	for _, c := range s.columns {
		here, _ := c.Measure(at(like, throughputNumber()))
		var best *run.Stage
		most := here.Median
		for _, g := range c.Runs[0].Stages {
			if one, first := c.Measure(at(g, throughputNumber())); first.Known() && !g.Down && one.Median > most {
				best, most = g, one.Median
			}
		}
		if best != nil && here.Median < fell*most {
			parts = append(parts, fmt.Sprintf("%s peaked at %s, with %s/s", c.Name, pointText(best), table.Significant(most)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + names(parts)
}

// leads states the number of points at which the column that leads at the largest point leads each
// other column: the interval for the difference excludes 0. It returns "" unless a winner was
// named.
func (s *screen) leads(first *run.Run) string {
	var parts []string
	for _, r := range s.relations {
		if !r.told || !s.claimed(r) {
			continue
		}
		var ahead, behind, untold int
		for stage := range first.Stages {
			switch sign := s.signAt(r, stage); {
			case sign == 0:
				untold++
			case sign > 0 == (r.ahead == r.b):
				ahead++
			default:
				behind++
			}
		}
		winner, loser := s.columns[r.ahead].Name, s.columns[r.a+r.b-r.ahead].Name
		part := fmt.Sprintf("%s leads %s at %d of %d points", winner, loser, ahead, len(first.Stages))
		if behind > 0 {
			part += fmt.Sprintf(" and is behind at %d", behind)
		}
		if untold > 0 {
			part += fmt.Sprintf(" (%d undecided)", untold)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + names(parts)
}

// sayRates states up to which rate each column kept up, and compares latencies at the highest rate
// if all columns kept it.
func (s *screen) sayRates(first *run.Run, largest *run.Stage) string {
	var parts []string
	all := true
	for _, c := range s.columns {
		best := ""
		var highest float64
		for _, g := range first.Stages {
			if ok, _ := c.keeps(g); ok && !g.Down && g.Rate[0] >= highest {
				best, highest = rateOf(g), g.Rate[0]
			}
		}
		ok, got := c.keeps(largest)
		switch {
		case ok:
		case best == "":
			parts = append(parts, c.Name+" kept no rate")
		default:
			parts = append(parts, fmt.Sprintf("%s kept rates up to %s and answered %s a second at %s", c.Name, best, table.Significant(got), rateOf(largest)))
		}
		all = all && ok
	}
	if all {
		s.number = p99Number()
		return "All kept every rate; at " + rateOf(largest) + " " + s.order(s.all(), latencyPhrases(), largest.Label)
	}
	if len(parts) < len(s.columns) {
		parts = append(parts, "the others kept every rate")
	}
	return names(parts)
}

// mixedParts reports whether a load has both stages with a rate and closed loops.
func (s *screen) mixedParts() bool {
	return s.every(func(r *run.Run) bool { return r.Staged() && r.Rated() && r.Closed() })
}

// sayParts states the parts of a load one by one, because they answer different questions.
func (s *screen) sayParts() string {
	var parts []string
	for _, g := range s.columns[0].Runs[0].Stages {
		for _, c := range s.columns {
			switch ok, got := c.keeps(g); {
			case !g.Latency.Rated():
				parts = append(parts, fmt.Sprintf("%s answered %s %s a second at full speed with %s%s", c.Name, table.Significant(got), s.requests(), clients(g.Clients), s.within(c, g)))
			case ok:
				parts = append(parts, fmt.Sprintf("%s kept %s%s", c.Name, rateOf(g), s.within(c, g)))
			default:
				parts = append(parts, fmt.Sprintf("%s answered %s of %s", c.Name, table.Significant(got), rateOf(g)))
			}
		}
	}
	return strings.Join(parts, "; ")
}
