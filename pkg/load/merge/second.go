package merge

import (
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// second holds records from all generators for one second.
type second struct {
	at   moment
	from []share // by part
	// latency holds the merged histograms, by index as in [shape]; nil without values.
	latency []*packed
}

// share holds records from one generator for a second. It is empty if the generator sent no
// records.
type share struct {
	last    bool
	rows    []results.Interval
	errors  []results.ErrorCount
	ticks   []results.Progress
	answers []load.Answers
	members []results.MemberSecond
}

// take copies records from a generator.
func (s *second) take(part int, sh shape, sent *load.Second) {
	c := &s.from[part]
	c.last = sent.Last
	c.rows = append(c.rows[:0], sent.Intervals...)
	c.errors = append(c.errors[:0], sent.Errors...)
	c.ticks = append(c.ticks[:0], sent.Progress...)
	c.answers = append(c.answers[:0], sent.Answers...)
	c.members = append(c.members[:0], sent.Members...)
	if s.latency == nil {
		s.latency = make([]*packed, sh.seriesCount())
	}
	for _, list := range [...][]load.Latency{sent.Latencies, sent.Failures} {
		for _, l := range list {
			i, _ := sh.index(l.Series)
			if s.latency[i] == nil {
				s.latency[i] = histogram.Packed()
			}
			s.latency[i].MergeFrom(l.Histogram)
		}
	}
}

// reset empties the second and keeps its memory.
func (s *second) reset() {
	for n := range s.from {
		c := &s.from[n]
		clear(c.errors) // and their texts
		*c = share{rows: c.rows[:0], errors: c.errors[:0], ticks: c.ticks[:0], answers: c.answers[:0], members: c.members[:0]}
	}
	for _, h := range s.latency {
		if h != nil {
			h.Reset()
		}
	}
}
