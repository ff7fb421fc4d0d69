package run

import (
	"slices"
	"sort"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

// ShareWithin divides a counter of seconds by the time in exactly the windows: how many such things
// lasted at any time, on average.
func (m *Machine) ShareWithin(windows []Span, n metric.Name) Measure {
	return shareWithin(windows, func(w Span) Measure { return m.GrowthWithin(w, Of(n)) })
}

// UsedAt returns the number of processors that this run used on a member's machine, on average over
// the windows: the sum over all members there, and the client if it is there, without generators.
func (r *Run) UsedAt(server int, windows []Span) Measure {
	sum := Measured(0, 0)
	for _, g := range r.sharing().hosts() {
		if !slices.Contains(g.members, server) {
			continue
		}
		machines := []*Machine{}
		for _, i := range g.members {
			machines = append(machines, &r.Machines.Servers[i])
		}
		if g.client != "" && !r.Info.Record.ByGenerators() {
			machines = append(machines, &r.Machines.Client)
		}
		for _, m := range machines {
			one := m.ShareWithin(windows, metric.CPUSeconds)
			if !one.Known() {
				return one
			}
			sum.Value, sum.N = sum.Value+one.Value, sum.N+one.N
		}
	}
	return sum
}

// ShareWithin is [Machine.ShareWithin] for a counter that the member reports. The answers must not
// have been dropped.
func (o *Own) ShareWithin(windows []Span, n metric.Name) Measure {
	return shareWithin(windows, func(w Span) Measure { return o.growthWithin(w, n) })
}

func shareWithin(windows []Span, growth func(Span) Measure) Measure {
	sum, seconds := Measured(0, 0), 0.0
	for _, w := range windows {
		one := growth(w)
		if !one.Known() {
			return one
		}
		sum.Value, sum.N = sum.Value+one.Value, sum.N+one.N
		seconds += w.seconds()
	}
	if seconds <= 0 {
		return Missing("the measured window was not recorded")
	}
	return Measured(sum.Value/seconds, sum.N)
}

// growthWithin interpolates a counter at both window ends.
func (o *Own) growthWithin(w Span, n metric.Name) Measure {
	whole := o.Growth([]Span{w}, n)
	if !whole.Known() {
		return whole
	}
	first, end := enclosing(w, o.Answers.Len(), func(i int) int64 { return o.Answers.Times[i] })
	var values []float64
	o.Answers.Values(n, first, end, func(v float64) bool {
		values = append(values, v)
		return true
	})
	if len(values) < 2 || len(values) != end-first {
		return Missing(answeredTooLittle)
	}
	return Measured(interpolated(o.Answers.Times[first:end], values, w.To)-interpolated(o.Answers.Times[first:end], values, w.From), whole.N)
}

// interpolated returns a counter at a time; outside all samples, the value of the nearest sample.
func interpolated(times []int64, values []float64, t int64) float64 {
	i := sort.Search(len(times)-2, func(i int) bool { return times[i+1] >= t })
	part := float64(t-times[i]) / float64(max(times[i+1]-times[i], 1))
	return values[i] + min(max(part, 0), 1)*(values[i+1]-values[i])
}

// ClientPart is the part of the mean response time that the client itself caused, in ms, over the
// ok requests in a stage: [results.Step.ClientDelayNS].
func (r *Run) ClientPart(g *Stage) Measure {
	ok := g.Latency.OK.N
	if unrecorded := r.Info.Unrecorded(); unrecorded.Words != "" || !ok.Known() || ok.Value == 0 {
		return unrecorded
	}
	sum, all := int64(0), int64(0)
	for _, s := range r.Info.Record.Steps {
		all += s.ClientDelayNS
		if len(r.Stages) == 1 || slices.Contains(g.Steps, s.Index) {
			sum += s.ClientDelayNS
		}
	}
	if all == 0 { // records by early releases lack it
		return Measure{Words: string(results.NotRecorded), Missing: "not recorded, or the client added no delay in any step"}
	}
	return Measured(float64(sum)/1e6/ok.Value, ok.Int())
}
