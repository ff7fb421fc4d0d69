package load

import "github.com/coreos/dbtester/pkg/results"

// Answers holds when the first and the last ok request in a tick ended, in nanoseconds after the
// step started.
type Answers struct{ First, Last int64 }

// Gaps finds the longest gap between ok answers. A gap longer than a tick lies between two ticks,
// so it is exact. The zero value has seen no answer.
type Gaps struct {
	any         bool
	first, last int64       // ok answers so far
	longest     results.Gap // between two answers
}

// Add adds the answers in a tick. A tick added late, because its record came late, may divide the
// longest gap.
func (g *Gaps) Add(a Answers) {
	switch {
	case !g.any:
		*g = Gaps{any: true, first: a.First, last: a.Last}
		return
	case a.Last < g.first:
		g.found(results.Gap{FromNS: a.Last, ToNS: g.first})
	case a.Last < g.last:
		g.divide(a)
	default:
		g.found(results.Gap{FromNS: g.last, ToNS: a.First})
		g.last = a.Last
	}
	g.first = min(g.first, a.First)
}

func (g *Gaps) divide(a Answers) {
	whole := g.longest
	if a.First <= whole.FromNS || a.Last >= whole.ToNS {
		return
	}
	g.longest.ToNS = a.First
	g.found(results.Gap{FromNS: a.Last, ToNS: whole.ToNS})
}

func (g *Gaps) found(gap results.Gap) {
	if gap.Length() > g.longest.Length() {
		g.longest = gap
	}
}

// Longest returns the longest gap in a window that holds all answers.
func (g *Gaps) Longest(from, to int64) results.Gap {
	if !g.any {
		return results.Gap{FromNS: from, ToNS: to, FromStart: true, ToEnd: true}
	}
	longest := Gaps{longest: results.Gap{FromNS: from, ToNS: g.first, FromStart: true}}
	longest.found(g.longest)
	longest.found(results.Gap{FromNS: g.last, ToNS: to, ToEnd: true})
	return longest.longest
}
