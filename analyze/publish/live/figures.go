package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/publish/page"
	"github.com/coreos/dbtester/pkg/workload"
)

// plot is a figure on a live page with a line for each series.
type plot struct {
	figure.Figure
	lines []page.Line
}

// add adds a series with its line.
func (p *plot) add(s figure.Series, l page.Line) {
	p.Series, p.lines = append(p.Series, s), append(p.lines, l)
}

// plots returns the figures on a live page, always the same ones in the same order: the requests to
// all databases, and the machines of the current one. A figure without points has no series.
func (s *state) plots() []plot {
	return []plot{
		s.ofLoads("LIVE-THROUGHPUT", "Requests that ended", figure.Axis{Label: "requests", Unit: "requests/s"}, throughput),
		s.ofLoads("LIVE-LATENCY", "Latency of ok requests", figure.Axis{Label: "latency in one second", Unit: "ms", Log: true}, latency),
		s.ofLoads("LIVE-FAILURES", "Requests that failed or whose outcome is unknown", figure.Axis{Label: "requests", Unit: "requests/s"}, failures),
		s.ofMachines("LIVE-PROCESSORS", "Processors", figure.Axis{Label: "of one core", Unit: "%"}, func(l *machineLines) page.Line { return l.percent }),
		s.ofMachines("LIVE-MEMORY", "Resident memory", figure.Axis{Label: "memory", Unit: "bytes"}, func(l *machineLines) page.Line { return l.resident }),
		s.ofMachines("LIVE-WRITTEN", "Written to disks", figure.Axis{Label: "written", Unit: "bytes/s"}, func(l *machineLines) page.Line { return l.written }),
	}
}

// secondsAxis is the horizontal axis in all figures, so that they zoom together.
func secondsAxis() figure.Axis { return figure.Axis{Label: "second of the load"} }

// line is a per-second statistic as a line in a figure.
type line struct {
	name string // follows the database name
	dash figure.Dash
	line page.Line
}

func throughput(l *oneLoad) []line {
	lines := []line{{"", figure.Solid, l.lines.ended}}
	if l.rated {
		lines = append(lines, line{"offered", figure.Dashed, l.lines.offered})
	}
	return lines
}

func latency(l *oneLoad) []line {
	return []line{{"p99", figure.Solid, l.lines.p99}, {"p50", figure.Dashed, l.lines.p50}}
}

func failures(l *oneLoad) []line { return []line{{"", figure.Solid, l.lines.faulty}} }

// ofLoads draws statistics on the requests to each database. If there is only one database, it also
// draws the steps.
func (s *state) ofLoads(name, title string, y figure.Axis, lines func(*oneLoad) []line) plot {
	p := plot{Figure: figure.Figure{Name: name, Title: title, Kind: figure.Lines, X: secondsAxis(), Y: y}}
	for i := range s.loads {
		l := &s.loads[i]
		if l.lines.ended.Empty() {
			continue
		}
		for n, line := range lines(l) {
			p.add(figure.Series{Name: joined(l.of.Tag, line.name), Key: i + 1, Variant: n, Dash: line.dash, Thin: line.dash == figure.Dashed}, line.line)
		}
		if len(s.loads) == 1 && len(l.steps) > 1 {
			for _, b := range l.steps {
				p.Steps = append(p.Steps, figure.Boundary{X: b.x, Label: stepText(b.step.Step), Key: i + 1})
			}
		}
	}
	key := 0
	if len(s.loads) > 1 {
		key = 1 + slices.IndexFunc(s.loads, func(l oneLoad) bool { return l.of.Tag == s.now.Tag })
	}
	s.mark(&p.Figure, key)
	return p
}

func joined(tag, name string) string {
	if name == "" {
		return tag
	}
	return tag + " " + name
}

// stepText is the clients in a step, and its rate if it has one.
func stepText(s workload.Step) string {
	clients := english.Plural(s.Clients, "client", "")
	if s.Rate > 0 {
		return fmt.Sprintf("%s, %s/s", clients, humanize.Ftoa(s.Rate))
	}
	return clients
}

// ofMachines draws a value for each machine of the current database, from when its load started.
func (s *state) ofMachines(name, title string, y figure.Axis, value func(*machineLines) page.Line) plot {
	p := plot{Figure: figure.Figure{Name: name, Title: title, Kind: figure.Lines, X: secondsAxis(), Y: y}}
	l := s.current()
	if l == nil || l.start.IsZero() {
		return p
	}
	p.Subtitle = "machines of " + l.of.Tag
	for i, name := range l.names() {
		m := l.machines[name]
		if line := value(&m.lines); !line.Empty() {
			p.add(figure.Series{Name: name, Key: i + 1}, line)
		}
	}
	s.mark(&p.Figure, 0)
	return p
}

// names returns machine names in order: the client, generators and members by number.
func (l *oneLoad) names() []string { return slices.SortedFunc(maps.Keys(l.machines), byKindAndNumber) }

// byKindAndNumber orders machine names, such as "member 2".
func byKindAndNumber(a, b string) int {
	number := func(name string) int {
		_, text, _ := strings.Cut(name, " ")
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0
		}
		return n
	}
	kindA, _, _ := strings.Cut(a, " ")
	kindB, _, _ := strings.Cut(b, " ")
	return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// left returns the remaining load time, if its length is known.
func (l *oneLoad) left(now time.Time) (time.Duration, bool) {
	if l.ahead.Length == 0 || l.start.IsZero() {
		return 0, false
	}
	return max(l.ahead.Length-now.Sub(l.start), 0), true
}
