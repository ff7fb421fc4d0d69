package live

import (
	"maps"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/exposition"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// oneLoad is the load of one database in one trial, with its machines. Its lists only grow, so a
// copy stays unchanged.
type oneLoad struct {
	of       Of
	start    time.Time // when the first second of the load began; zero before
	last     load.Progress
	total    int64         // requests of the whole load, 0 if unknown
	length   time.Duration // of the whole load, 0 if unknown
	seconds  []second
	steps    []boundary
	machines map[string]machine // by name
	faults   []lasted           // in the order in which they began
	leaders  []time.Time        // when others were elected
	counts   *exposition.Part   // nil before the load
	// reported are the members' newest answers, by their names.
	reported map[string]results.DatabaseSample
}

// second holds the rates in a second of a load, or in a step's part of that second.
type second struct {
	x                      float64 // seconds from the start of the load to the end of this one
	offered, ended, faulty float64 // requests per second
	p50, p99               float64 // milliseconds; 0 without an ok answer
	rated                  bool    // the step has a rate
}

// boundary is where a step began.
type boundary struct {
	x    float64
	step load.Step
}

// machine holds the samples of a machine.
type machine struct {
	last   results.Sample
	points []point
}

// point is a sample in the units of figures.
type point struct {
	at                time.Time
	percent           float64 // of one core; metric.Unknown if unknown
	resident, written float64 // bytes, and bytes per second; metric.Unknown if unknown
}

// second adds a second that was reported at that time.
func (l *oneLoad) second(at time.Time, p load.Progress, total int64, length time.Duration) {
	if l.start.IsZero() {
		l.start = at.Add(-p.Elapsed)
	}
	x := at.Sub(l.start).Seconds()
	if len(l.steps) == 0 || l.steps[len(l.steps)-1].step.Index != p.Step.Index {
		l.steps = append(l.steps, boundary{max(x-p.Elapsed.Seconds(), 0), p.Step})
	}
	l.last, l.total, l.length = p, total, length
	if p.PerSecond(1) == 0 { // too short for a rate
		return
	}
	rate := func(n int64) float64 { return float64(n) / p.Span.Seconds() }
	l.seconds = append(l.seconds, second{
		x: x, offered: rate(p.Offered), ended: rate(p.Ended), faulty: rate(p.Faulty),
		p50: milliseconds(p.P50), p99: milliseconds(p.P99), rated: p.Step.Rate > 0,
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// sample adds a sample of a machine, unless it repeats the previous one.
func (l *oneLoad) sample(name string, s results.Sample) {
	m := l.machines[name]
	before := m.last
	if s.UnixNano <= before.UnixNano {
		return
	}
	p := point{at: time.Unix(0, s.UnixNano), percent: s.Get(metric.CPUPercent), resident: s.Get(metric.RSSBytes), written: metric.Unknown}
	wrote, had := s.Get(metric.WriteBytes), before.Get(metric.WriteBytes)
	if had >= 0 && wrote >= had && s.PID == before.PID {
		p.written = (wrote - had) / (float64(s.UnixNano-before.UnixNano) / float64(time.Second))
	}
	m.last, m.points = s, append(m.points, p)
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
