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
	// have states a column's value, and further the next column's value in a list.
	have, further func(name, value string) string
	// ahead states the value of a column that leads some others, and most that of one that leads
	// all others, if there are several.
	ahead, most func(name, value string) string
	// behind compares with a column that trails by ratio.
	behind func(ratio float64, name, value string) string
	// The compared numbers in words.
	what string
}

// order orders the columns in a set by the number: it names the leader if the runs allow it, and
// otherwise lists the values in order.
func (k *ranking) order(columns []int, p phrases, point string) string {
	ranked := slices.Clone(columns)
	slices.SortStableFunc(ranked, func(a, b int) int { return k.better(a, b) })
	known := slices.DeleteFunc(ranked, func(c int) bool { return math.IsNaN(k.value(k.columns[c])) })
	if len(known) < 2 {
		return k.values(columns, p)
	}
	first := known[0]
	var behind, alike, equal []int
	for _, c := range known[1:] {
		switch r, _ := k.between(first, c); {
		case r.told && r.ahead == first:
			behind = append(behind, c)
		case r.equal:
			equal = append(equal, c)
		default:
			alike = append(alike, c)
		}
	}
	if len(behind) == 0 {
		return k.unordered(columns, known, equal, p, point)
	}
	return k.ordered(first, behind, append(equal, alike...), p, point)
}

// better compares the medians in two columns, the better one first.
func (k *ranking) better(a, b int) int {
	x, y := k.value(k.columns[a]), k.value(k.columns[b])
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return cmp.Compare(y, x) // NaN sorts last
	case k.number.less:
		return cmp.Compare(x, y)
	}
	return cmp.Compare(y, x)
}

// ordered names the leading column and those that it leads.
func (k *ranking) ordered(first int, behind, alike []int, p phrases, point string) string {
	c := k.columns[first]
	begin := p.ahead
	if len(behind) > 1 && len(alike) == 0 {
		begin = p.most
	}
	var parts []string
	for _, other := range behind {
		r, _ := k.between(first, other)
		k.claim(r, point)
		o := k.columns[other]
		ratio := k.value(c) / k.value(o)
		if k.number.less {
			ratio = 1 / ratio
		}
		parts = append(parts, p.behind(ratio, o.Name, k.textOf(o)))
	}
	text := begin(c.Name, k.textOf(c)) + ": " + names(parts)
	if len(alike) > 0 {
		text += "; it cannot be told apart from " + k.list(alike)
	}
	return text
}

// unordered lists values if the column with the best median leads no other.
func (k *ranking) unordered(columns, known, equal []int, p phrases, point string) string {
	if len(equal) == len(known)-1 {
		return fmt.Sprintf("%s are equal within %s %%: %s", p.what, table.Significant(100*compare.Margin), k.list(columns))
	}
	var pairs []string
	for i, a := range known {
		for _, b := range known[i+1:] {
			if r, _ := k.between(a, b); r.told && r.ahead == a {
				k.claim(r, point)
				pairs = append(pairs, fmt.Sprintf("%s is ahead of %s", k.columns[a].Name, k.columns[b].Name))
			}
		}
	}
	if k.look() {
		return k.values(columns, p)
	}
	if len(pairs) > 0 {
		return fmt.Sprintf("%s: %s; the others cannot be told apart", k.values(columns, p), names(pairs))
	}
	return fmt.Sprintf("%s cannot be told apart: %s", p.what, k.list(columns))
}

// values states each column's value, in order.
func (k *ranking) values(columns []int, p phrases) string {
	var parts []string
	for i, c := range columns {
		say := p.further
		if i == 0 {
			say = p.have
		}
		parts = append(parts, say(k.columns[c].Name, k.textOf(k.columns[c])))
	}
	return names(parts)
}

// list names columns with their values: "etcd (1,010) and zookeeper (1,000)".
func (k *ranking) list(columns []int) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, fmt.Sprintf("%s (%s)", k.columns[c].Name, k.textOf(k.columns[c])))
	}
	return names(parts)
}

// textOf formats a column's median for the number.
func (k *ranking) textOf(c Column) string { return c.median(k.measureOf, k.number.text) }

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
