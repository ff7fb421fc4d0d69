package answers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/answers/compare"
	"github.com/coreos/dbtester/analyze/table"
)

// phrases are the wordings for an order by one number. Each takes a column's name and value.
type phrases struct {
	// have states a column's value, and further the value of the next column in a list.
	have, further func(name, value string) string
	// ahead states the value of a column that leads some others, and most the value of one that
	// leads all of several others.
	ahead, most func(name, value string) string
	// behind compares with a column that trails by ratio.
	behind func(ratio float64, name, value string) string
	// what names the compared numbers.
	what string
}

// order orders a set's columns by the number: it names the leader if the runs allow it, and
// otherwise lists the values in order.
func (s *screen) order(columns []int, p phrases, point string) string {
	ranked := slices.Clone(columns)
	slices.SortStableFunc(ranked, func(a, b int) int { return s.better(a, b) })
	known := slices.DeleteFunc(ranked, func(c int) bool { return math.IsNaN(s.value(s.columns[c])) })
	if len(known) < 2 {
		return s.values(columns, p)
	}
	first := known[0]
	var behind, alike, equal []int
	for _, c := range known[1:] {
		switch r, _ := s.between(first, c); {
		case r.told && r.ahead == first:
			behind = append(behind, c)
		case r.equal:
			equal = append(equal, c)
		default:
			alike = append(alike, c)
		}
	}
	if len(behind) == 0 {
		return s.unordered(columns, known, equal, p, point)
	}
	return s.ordered(first, behind, append(equal, alike...), p, point)
}

// better compares two columns' medians, the better one first.
func (s *screen) better(a, b int) int {
	x, y := s.value(s.columns[a]), s.value(s.columns[b])
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return cmp.Compare(y, x) // NaN sorts last
	case s.number.less:
		return cmp.Compare(x, y)
	}
	return cmp.Compare(y, x)
}

// ordered names the leading column and those that it leads.
func (s *screen) ordered(first int, behind, alike []int, p phrases, point string) string {
	c := s.columns[first]
	begin := p.ahead
	if len(behind) > 1 && len(alike) == 0 {
		begin = p.most
	}
	var parts []string
	for _, other := range behind {
		r, _ := s.between(first, other)
		s.claim(r, point)
		o := s.columns[other]
		ratio := s.value(c) / s.value(o)
		if s.number.less {
			ratio = 1 / ratio
		}
		parts = append(parts, p.behind(ratio, o.Name, s.textOf(o)))
	}
	text := begin(c.Name, s.textOf(c)) + ": " + names(parts)
	if len(alike) > 0 {
		text += "; it cannot be told apart from " + s.list(alike)
	}
	return text
}

// unordered lists values if the column with the best median leads no other.
func (s *screen) unordered(columns, known, equal []int, p phrases, point string) string {
	if len(equal) == len(known)-1 {
		return fmt.Sprintf("%s are equal within %s %%: %s", p.what, table.Significant(100*compare.Margin), s.list(columns))
	}
	var pairs []string
	for i, a := range known {
		for _, b := range known[i+1:] {
			if r, _ := s.between(a, b); r.told && r.ahead == a {
				s.claim(r, point)
				pairs = append(pairs, fmt.Sprintf("%s is ahead of %s", s.columns[a].Name, s.columns[b].Name))
			}
		}
	}
	if s.look() {
		return s.values(columns, p)
	}
	if len(pairs) > 0 {
		return fmt.Sprintf("%s: %s; the others cannot be told apart", s.values(columns, p), names(pairs))
	}
	return fmt.Sprintf("%s cannot be told apart: %s", p.what, s.list(columns))
}

// values states each column's value, in order.
func (s *screen) values(columns []int, p phrases) string {
	var parts []string
	for i, c := range columns {
		say := p.further
		if i == 0 {
			say = p.have
		}
		parts = append(parts, say(s.columns[c].Name, s.textOf(s.columns[c])))
	}
	return names(parts)
}

// list names columns with their values: "etcd (1,010) and zookeeper (1,000)".
func (s *screen) list(columns []int) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, fmt.Sprintf("%s (%s)", s.columns[c].Name, s.textOf(s.columns[c])))
	}
	return names(parts)
}

// textOf formats a column's median of the number.
func (s *screen) textOf(c Column) string { return c.median(s.measureOf, s.number.text) }

// throughputPhrases are the wordings for throughputs.
func throughputPhrases(requests string) phrases {
	return phrases{
		have: func(name, value string) string {
			return fmt.Sprintf("%s answered %s %s a second", name, value, requests)
		},
		further: func(name, value string) string { return name + " " + value },
		ahead: func(name, value string) string {
			return fmt.Sprintf("%s answered %s %s a second", name, value, requests)
		},
		most: func(name, value string) string {
			return fmt.Sprintf("%s answered the most %s a second, %s", name, requests, value)
		},
		behind: func(ratio float64, name, value string) string {
			return fmt.Sprintf("%s %s (%s)", times(ratio, "many as"), name, value)
		},
		what: "the throughputs (" + requests + " a second)",
	}
}

// latencyPhrases are the wordings for p99 latencies.
func latencyPhrases() phrases {
	return phrases{
		have: func(name, value string) string {
			return fmt.Sprintf("99 %% of the requests to %s took at most %s", name, value)
		},
		further: func(name, value string) string { return fmt.Sprintf("to %s %s", name, value) },
		ahead:   func(name, value string) string { return fmt.Sprintf("%s had a p99 latency of %s", name, value) },
		most: func(name, value string) string {
			return fmt.Sprintf("%s had the shortest p99 latency, %s", name, value)
		},
		behind: func(ratio float64, name, value string) string {
			return fmt.Sprintf("%s's was %s (%s)", name, times(ratio, "long"), value)
		},
		what: "the p99 latencies",
	}
}
