package live

import (
	"maps"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// report records an answer, or its absence.
func (l *oneLoad) report(member string, s results.DatabaseSample) {
	if l.reported == nil {
		l.reported = map[string]answers{}
	}
	a := l.reported[member]
	if a.last.Error == "" {
		a.before = a.last
	}
	a.last = s
	l.reported[member] = a
}

// reporters returns the names of members that reported, in order.
func (l *oneLoad) reporters() []string {
	return slices.SortedFunc(maps.Keys(l.reported), byKindAndNumber)
}

// grown returns a counter's growth between both answers; [metric.Unknown] if one lacks it, or the
// member was started again.
func (a answers) grown(counter metric.Name) float64 {
	now, then := a.last.Values.Get(counter), a.before.Values.Get(counter)
	if then < 0 || now < then {
		return metric.Unknown
	}
	return now - then
}

// perSecond returns counter growth by second.
func (a answers) perSecond(counter metric.Name) float64 {
	grown, span := a.grown(counter), float64(a.last.UnixNano-a.before.UnixNano)/float64(time.Second)
	if grown < 0 || span <= 0 {
		return metric.Unknown
	}
	return grown / span
}

// mean divides the growth of a sum by the growth of its count.
func (a answers) mean(sum, parts metric.Name) float64 {
	of, n := a.grown(sum), a.grown(parts)
	if of < 0 || n <= 0 {
		return metric.Unknown
	}
	return of / n
}
