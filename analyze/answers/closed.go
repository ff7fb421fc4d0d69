package answers

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// sayClosed states the throughput with the requested number of clients.
func (s *screen) sayClosed() string {
	first := s.columns[0].Runs[0]
	with := ""
	if n := first.Stages[0].Clients; n > 0 {
		with = "with " + clients(n) + " "
	}
	if len(s.columns) == 1 {
		return with + s.alone(first.Stages[0])
	}
	return with + s.order(s.all(), throughputPhrases(s.requests()), "")
}

// all returns all column indexes.
func (s *screen) all() (list []int) {
	for i := range s.columns {
		list = append(list, i)
	}
	return list
}

// alone describes a stage if there is only one column.
func (s *screen) alone(like *run.Stage) string {
	c := s.columns[0]
	text := fmt.Sprintf("%s answered %s %s a second", c.Name, c.median(at(like, throughputNumber()), table.Significant), s.requests())
	return text + s.within(c, like)
}

// within states how long nearly all requests in a stage took: ", 99 % of them within 20 ms".
func (s *screen) within(c Column, like *run.Stage) string {
	spread, first := c.Measure(at(like, p99Number()))
	switch {
	case !first.Known():
		return ""
	case first.AtLeast():
		return ", and over 1 % of them took " + length(spread.Median) + " or longer"
	}
	return ", 99 % of them within " + length(spread.Median)
}

// at returns a function that measures n at a run's stage like the given one.
func at(like *run.Stage, n number) func(*run.Run) run.Measure { return run.At(like, n.of) }
