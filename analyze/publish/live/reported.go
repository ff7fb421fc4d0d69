package live

import (
	"maps"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// answers holds the newest metrics that a member reported about itself, and the ones before. If the
// member did not answer, last has no values.
type answers struct{ last, before results.DatabaseSample }

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

// reporters returns the names of the members that reported, in order.
func (l *oneLoad) reporters() []string {
	return slices.SortedFunc(maps.Keys(l.reported), byKindAndNumber)
}

// grown returns by how much a counter grew between both answers; [metric.Unknown] if one of them lacks
// it, or the member was started again.
func (a answers) grown(counter metric.Name) float64 {
	now, then := a.last.Values.Get(counter), a.before.Values.Get(counter)
	if then < 0 || now < then {
		return metric.Unknown
	}
	return now - then
}

// perSecond returns a counter's growth by second.
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

// reportedTable has the newest answers of the current database's members, which control asks if it
// has no agents there. They are seconds old.
func (s *state) reportedTable() table {
	t := table{ID: "reported", Head: []string{"by its own account", "store", "connections", "not answered yet", "syncs", "mean sync"}, Rows: [][]string{}}
	l := s.current()
	if l == nil {
		return t
	}
	count := func(v float64) string {
		if v < 0 {
			return missing
		}
		return humanize.Comma(int64(v))
	}
	for _, name := range l.reporters() {
		a := l.reported[name]
		syncs, took := missing, missing
		if v := a.perSecond(metric.Fsyncs); v >= 0 {
			syncs = whole(v) + "/s"
		}
		if v := a.mean(metric.FsyncSeconds, metric.Fsyncs); v > 0 {
			took = latencyText(v * 1e3)
		}
		get := a.last.Values.Get
		if name == l.leaderName() || get(metric.IsLeader) == 1 {
			name += ", leader"
		}
		t.Rows = append(t.Rows, []string{name, bytesText(get(metric.DBBytes)), count(get(metric.Connections)), count(get(metric.Outstanding)), syncs, took})
	}
	return t
}
