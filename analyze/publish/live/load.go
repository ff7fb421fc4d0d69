package live

import (
	"maps"
	"math"
	"time"

	"github.com/coreos/dbtester/analyze/publish/page"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// oneLoad collects the reports about one database in one trial, with its machines. Its lists only
// grow, so a copy stays unchanged.
type oneLoad struct {
	of       Of
	start    time.Time // when the first second of the load began; zero before
	last     load.Progress
	ahead    Ahead
	second   second // the last one; zero before the first
	rated    bool   // a step had a rate
	lines    loadLines
	steps    []boundary
	machines map[string]machine // by name
	faults   []lasted           // in the order in which they began
	leaders  []time.Time        // when others were elected
	leader   int                // the member that leads, from 1; 0 is unknown
	counts   *exposition.Part   // nil before the load
	reported map[string]answers // by member name
}

// second holds the rates in a second of the load, or in a step's part of that second.
type second struct {
	x                      float64 // seconds from when the load starts to the end of this one
	offered, ended, faulty float64 // requests per second
	p50, p99               float64 // milliseconds; 0 without an ok answer
}

// loadLines are the seconds in a load as lines in figures.
type loadLines struct{ ended, offered, faulty, p50, p99 page.Line }

func (l *loadLines) add(s second) {
	l.ended.Add(s.x, s.ended)
	l.offered.Add(s.x, s.offered)
	l.faulty.Add(s.x, s.faulty)
	l.p50.Add(s.x, gapIf(s.p50 == 0, s.p50))
	l.p99.Add(s.x, gapIf(s.p99 == 0, s.p99))
}

// boundary is where a step began.
type boundary struct {
	x    float64
	step load.Step
}

// machine holds the samples from a machine.
type machine struct {
	sample results.Sample // the newest
	point  point          // the same, in figure units
	// before are the points before the load has begun: its first second is reported at its end.
	before []point
	lines  machineLines
}

// machineLines are the samples from a machine during the load as lines in figures.
type machineLines struct{ percent, resident, written page.Line }

// point is a sample in figure units.
type point struct {
	at                time.Time
	percent           float64 // of one core; metric.Unknown if unknown
	resident, written float64 // bytes, and bytes per second; metric.Unknown if unknown
}

// mostBefore bounds the points before the load has begun.
const mostBefore = 10

// add adds a point, unless it is from before the start.
func (l *machineLines) add(p point, start time.Time) {
	x := p.at.Sub(start).Seconds()
	if x < 0 {
		return
	}
	l.percent.Add(x, gapIf(p.percent == metric.Unknown, p.percent))
	l.resident.Add(x, gapIf(p.resident == metric.Unknown, p.resident))
	l.written.Add(x, gapIf(p.written == metric.Unknown, p.written))
}

// progress adds a second that was reported at that time.
func (l *oneLoad) progress(at time.Time, p load.Progress, ahead Ahead) {
	if l.start.IsZero() {
		l.begin(at.Add(-p.Elapsed))
	}
	x := at.Sub(l.start).Seconds()
	if len(l.steps) == 0 || l.steps[len(l.steps)-1].step.Index != p.Step.Index {
		l.steps = append(l.steps, boundary{max(x-p.Elapsed.Seconds(), 0), p.Step})
	}
	l.last, l.ahead = p, ahead
	if p.PerSecond(1) == 0 { // too short for a rate
		return
	}
	rate := func(n int64) float64 { return float64(n) / p.Span.Seconds() }
	l.second = second{
		x: x, offered: rate(p.Offered), ended: rate(p.Ended), faulty: rate(p.Faulty),
		p50: milliseconds(p.P50), p99: milliseconds(p.P99),
	}
	l.rated = l.rated || p.Step.Rate > 0
	l.lines.add(l.second)
}

// begin sets when the load began, and draws the samples since then.
func (l *oneLoad) begin(at time.Time) {
	l.start = at
	for name, m := range l.machines {
		for _, p := range m.before {
			m.lines.add(p, at)
		}
		m.before = nil
		l.machines[name] = m
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// gapIf returns v, or NaN for a gap.
func gapIf(gap bool, v float64) float64 {
	if gap {
		return math.NaN()
	}
	return v
}

// sample adds a sample from a machine, unless it repeats the previous one.
func (l *oneLoad) sample(name string, s results.Sample) {
	m := l.machines[name]
	before := m.sample
	if s.UnixNano <= before.UnixNano {
		return
	}
	p := point{at: time.Unix(0, s.UnixNano), percent: s.Get(metric.CPUPercent), resident: s.Get(metric.RSSBytes), written: metric.Unknown}
	wrote, had := s.Get(metric.WriteBytes), before.Get(metric.WriteBytes)
	if had >= 0 && wrote >= had && s.PID == before.PID {
		p.written = (wrote - had) / (float64(s.UnixNano-before.UnixNano) / float64(time.Second))
	}
	m.sample, m.point = s, p
	switch {
	case !l.start.IsZero():
		m.lines.add(p, l.start)
	case len(m.before) < mostBefore:
		m.before = append(m.before, p)
	default:
		m.before = append(m.before[1:mostBefore:mostBefore], p)
	}
	if l.machines == nil {
		l.machines = map[string]machine{}
	}
	l.machines[name] = m
}

// clone returns a copy that stays unchanged.
func (l *oneLoad) clone() oneLoad {
	c := *l
	c.machines, c.reported = maps.Clone(l.machines), maps.Clone(l.reported)
	return c
}

// Of names the load on a database in a trial.
type Of struct {
	Trial, Trials int
	Tag           string // "" before the first database
}

// Ahead has the known dimensions of a whole load while it runs.
type Ahead struct {
	Requests int64         // 0 if unknown
	Length   time.Duration // 0 if unknown
	Steps    []workload.Step
}

// lasted is a fault of a member, from 0, or of the cluster, -1.
type lasted struct {
	member int
	from   time.Time
	to     time.Time // zero while it lasts
}

// answers holds the newest metrics that a member reported about itself, and the ones before. If the
// member did not answer, last has no values.
type answers struct{ last, before results.DatabaseSample }
