package answers

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// kept is the smallest share of the rate that counts as keeping it.
const kept = .99

func (s *screen) rated() bool { return s.every((*run.Run).Rated) }

// keeps reports whether a column kept the rate in a stage, by the median over its trials, and
// returns the throughput. A changing rate is compared by its mean.
func (c Column) keeps(like *run.Stage) (ok bool, throughput float64) {
	due := like.Rate[0]
	if like.Rate[1] > 0 {
		due = (like.Rate[0] + like.Rate[1]) / 2
	}
	spread, first := c.Measure(at(like, throughputNumber()))
	return first.Known() && spread.Median >= kept*due, spread.Median
}

// rateOf formats the rate in a stage: "1,000/s".
func rateOf(g *run.Stage) string {
	return strings.TrimSuffix(run.RateText(g.Rate[0], g.Rate[1]), " due")
}

// sayRate states whether the rate was kept, and how long requests took.
func (s *screen) sayRate() string {
	like := s.columns[0].Runs[0].Stages[0]
	asked := rateOf(like)
	var keep []int
	var missed []string
	for i, c := range s.columns {
		ok, got := c.keeps(like)
		if ok {
			keep = append(keep, i)
			continue
		}
		missed = append(missed, fmt.Sprintf("%s answered %s of %s", c.Name, table.Significant(got), asked))
	}
	switch {
	case len(s.columns) == 1 && len(keep) == 1:
		return s.columns[0].Name + " kept " + asked + s.within(s.columns[0], like)
	case len(keep) == 0:
		return "The rate was not kept: " + names(missed)
	}
	who := "All kept"
	if len(missed) > 0 {
		who = names(missed) + "; " + s.named(keep) + " kept"
	}
	return who + " " + asked + "; " + s.order(keep, latencyPhrases(), "")
}

// named lists the column names.
func (s *screen) named(columns []int) string {
	var list []string
	for _, c := range columns {
		list = append(list, s.columns[c].Name)
	}
	return names(list)
}
