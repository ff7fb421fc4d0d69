package live

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/metric"
)

// figures returns the figures of a live page, always the same ones in the same order: the requests
// of all databases, and the machines of the current one. A figure without points has no series.
func (s *state) figures() []figure.Figure {
	return []figure.Figure{
		s.ofLoads("LIVE-THROUGHPUT", "Requests that ended", figure.Axis{Label: "requests", Unit: "requests/s"}, throughput),
		s.ofLoads("LIVE-LATENCY", "Latency of ok requests", figure.Axis{Label: "latency in one second", Unit: "ms", Log: true}, latency),
		s.ofLoads("LIVE-FAILURES", "Requests that failed or whose outcome is unknown", figure.Axis{Label: "requests", Unit: "requests/s"}, failures),
		s.ofMachines("LIVE-PROCESSORS", "Processors", figure.Axis{Label: "of one core", Unit: "%"}, func(p point) float64 { return p.percent }),
		s.ofMachines("LIVE-MEMORY", "Resident memory", figure.Axis{Label: "memory", Unit: "bytes"}, func(p point) float64 { return p.resident }),
		s.ofMachines("LIVE-WRITTEN", "Written to disks", figure.Axis{Label: "written", Unit: "bytes/s"}, func(p point) float64 { return p.written }),
	}
}

// secondsAxis is the horizontal axis of all figures, so that they zoom together.
func secondsAxis() figure.Axis { return figure.Axis{Label: "second of the load"} }

// line is a per-second statistic as a line of a figure.
type line struct {
	name string // follows the database's name
	dash figure.Dash
	y    func(second) float64
}

func throughput(l *oneLoad) []line {
	lines := []line{{"", figure.Solid, func(s second) float64 { return s.ended }}}
	if slices.ContainsFunc(l.seconds, func(s second) bool { return s.rated }) {
		lines = append(lines, line{"offered", figure.Dashed, func(s second) float64 { return s.offered }})
	}
	return lines
}

func latency(*oneLoad) []line {
	return []line{
		{"p99", figure.Solid, func(s second) float64 { return gapIf(s.p99 == 0, s.p99) }},
		{"p50", figure.Dashed, func(s second) float64 { return gapIf(s.p50 == 0, s.p50) }},
	}
}

func failures(*oneLoad) []line {
	return []line{{"", figure.Solid, func(s second) float64 { return s.faulty }}}
}

// gapIf is a value, or a gap in a line.
func gapIf(gap bool, v float64) float64 {
	if gap {
		return math.NaN()
	}
	return v
}

// ofLoads draws statistics of each database's requests. If there is only one database, it also
// draws the steps.
func (s *state) ofLoads(name, title string, y figure.Axis, lines func(*oneLoad) []line) figure.Figure {
	f := figure.Figure{Name: name, Title: title, Kind: figure.Lines, X: secondsAxis(), Y: y}
	for i := range s.loads {
		l := &s.loads[i]
		if len(l.seconds) == 0 {
			continue
		}
		for n, line := range lines(l) {
			one := figure.Series{Name: joined(l.of.Tag, line.name), Key: i + 1, Variant: n, Dash: line.dash, Thin: line.dash == figure.Dashed}
			for _, s := range l.seconds {
				one.X, one.Y = append(one.X, s.x), append(one.Y, line.y(s))
			}
			f.Series = append(f.Series, one)
		}
		if len(s.loads) == 1 && len(l.steps) > 1 {
			for _, b := range l.steps {
				f.Steps = append(f.Steps, figure.Boundary{X: b.x, Label: stepText(b.step), Key: i + 1})
			}
		}
	}
	key := 0
	if len(s.loads) > 1 {
		key = 1 + slices.IndexFunc(s.loads, func(l oneLoad) bool { return l.of.Tag == s.now.Tag })
	}
	s.mark(&f, key)
	return f
}

func joined(tag, name string) string {
	if name == "" {
		return tag
	}
	return tag + " " + name
}

// stepText is a step's clients, and its rate if it has one.
func stepText(s load.Step) string {
	clients := english.Plural(s.Clients, "client", "")
	if s.Rate > 0 {
		return fmt.Sprintf("%s, %s/s", clients, humanize.Ftoa(s.Rate))
	}
	return clients
}

// ofMachines draws a value of each machine of the current database, from the start of its load.
func (s *state) ofMachines(name, title string, y figure.Axis, value func(point) float64) figure.Figure {
	f := figure.Figure{Name: name, Title: title, Kind: figure.Lines, X: secondsAxis(), Y: y}
	l := s.current()
	if l == nil || l.start.IsZero() {
		return f
	}
	f.Subtitle = "machines of " + l.of.Tag
	for i, name := range l.names() {
		one := figure.Series{Name: name, Key: i + 1}
		for _, p := range l.machines[name].points {
			if x := p.at.Sub(l.start).Seconds(); x >= 0 {
				v := value(p)
				one.X, one.Y = append(one.X, x), append(one.Y, gapIf(v == metric.Unknown, v))
			}
		}
		if len(one.X) > 0 {
			f.Series = append(f.Series, one)
		}
	}
	s.mark(&f, 0)
	return f
}

// current returns the load of the current database, nil before the first.
func (s *state) current() *oneLoad {
	i := slices.IndexFunc(s.loads, func(l oneLoad) bool { return l.of.Tag == s.now.Tag })
	if i < 0 {
		return nil
	}
	return &s.loads[i]
}

// names returns the names of the machines in order: the client, generators and members by number.
func (l *oneLoad) names() []string {
	number := func(name string) int {
		_, text, _ := strings.Cut(name, " ")
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0
		}
		return n
	}
	return slices.SortedFunc(maps.Keys(l.machines), func(a, b string) int {
		kindA, _, _ := strings.Cut(a, " ")
		kindB, _, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
}

// left returns the remaining time of the load, if its length is known.
func (l *oneLoad) left(now time.Time) (time.Duration, bool) {
	if l.length == 0 || l.start.IsZero() {
		return 0, false
	}
	return max(l.length-now.Sub(l.start), 0), true
}
