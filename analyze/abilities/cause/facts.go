package cause

import (
	"cmp"
	"math"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// fewestTrips is the smallest number of round trips whose mean is used. Members measure few round
// trips, and kernels many.
const fewestTrips = 10

// unrecorded is a fact without a value.
func unrecorded(why string) run.Measure {
	return run.Measure{Words: "not recorded", Missing: why}
}

// FactsOf collects facts about a stage.
func FactsOf(r *run.Run, g *run.Stage) *Facts {
	l := &g.Latency
	f := &Facts{Response: l.OK.Mean, Service: l.OK.Mean, Client: r.ClientPart(g)}
	f.Response.Marks = nil
	if l.Rated() {
		f.Service = l.Service.Mean
	} else if f.Response.Known() {
		f.Service = run.Inapplicable("a closed loop sends as soon as a client is free")
	}
	f.Pending, f.Shared, f.Direct = pending(g), r.ClientShares(), direct(r)
	spans := r.SpansOf(g)
	leader, why := r.Leader()
	if why != "" {
		f.Throttled, f.Waiting, f.Busy = unrecorded(why), unrecorded(why), unrecorded(why)
		f.setWrites(unrecorded(why))
		return f
	}
	f.setProcessors(r, spans, leader)
	if !writesOnly(r, g) {
		f.setWrites(unrecorded("not split: the load has other requests than writes, which do not wait for these"))
		return f
	}
	mean := func(m *run.Machine, sum, count metric.Name) run.Measure {
		s, n := m.Own.Inside(spans, sum), m.Own.Inside(spans, count)
		switch {
		case !s.Known():
			return unrecorded(m.Name + ": " + s.Missing)
		case !n.Known():
			return unrecorded(m.Name + ": " + n.Missing)
		case n.Value == 0:
			return unrecorded(m.Name + " reported none in the measured window")
		}
		f.Whole = f.Whole || whole(s)
		return run.Measured(1e3*s.Value/n.Value, int64(n.Value))
	}
	f.Syncing = known(leader.Own.ShareWithin(spans, metric.FsyncSeconds))
	f.Sync = mean(leader, metric.FsyncSeconds, metric.Fsyncs)
	f.Agreement = mean(leader, metric.AgreementSeconds, metric.Agreements)
	f.Queue = mean(leader, metric.QueueSeconds, metric.Queued)
	f.Trip, f.Acknowledged = trip(leader, spans, mean(leader, metric.PeerTripSeconds, metric.PeerTrips))
	f.FollowersSync = run.Inapplicable("there is one member alone")
	if len(r.Machines.Servers) == 1 {
		f.Trip, f.Agreement = f.FollowersSync, f.FollowersSync
	}
	for i := range r.Machines.Servers {
		if m := &r.Machines.Servers[i]; m != leader {
			one := mean(m, metric.FsyncSeconds, metric.Fsyncs)
			if !f.FollowersSync.Known() || one.Known() && one.Value < f.FollowersSync.Value {
				f.FollowersSync = one
			}
		}
	}
	f.Inside = insideOf(r, spans)
	f.Whole = f.Whole || f.Inside.Known() && whole(f.Inside.Times(float64(f.Inside.N)/1e3))
	return f
}

// direct reports whether all clients were connected to the leader all the time: it was the target,
// and no client lost a connection, because reconnecting may lead to another member.
func direct(r *run.Run) bool {
	lost := func(s results.Step) bool { return s.ConnectionsLost > 0 }
	return r.Info.Record.Load.Target == "leader" && !slices.ContainsFunc(r.Info.Record.Steps, lost)
}

// trip returns the mean round trip from a member to others: the kernel's, from acknowledgements on
// its streams, or else the member's own measure.
func trip(m *run.Machine, spans []run.Span, own run.Measure) (trip run.Measure, acknowledged bool) {
	s, n := m.Inside(spans, metric.StreamTripSeconds), m.Inside(spans, metric.StreamTrips)
	switch {
	case s.Known() && n.Known() && n.Value >= fewestTrips:
		return run.Measured(1e3*s.Value/n.Value, int64(n.Value)), true
	case own.Known() && own.N < fewestTrips:
		return unrecorded("fewer than ten round trips to other members were measured"), false
	}
	return own, false
}

// whole reports whether a sum of seconds consists of whole milliseconds.
func whole(seconds run.Measure) bool {
	ms := 1e3 * seconds.Value
	return math.Abs(ms-math.Round(ms)) < 1e-4
}

// pending counts requests in flight, on average, by Little's law.
func pending(g *run.Stage) run.Measure {
	l := &g.Latency
	service := l.OK.Mean
	if l.Rated() {
		service = l.Service.Mean
	}
	switch ok := g.Throughput.Average; {
	case ok.Known() && service.Known():
		return run.Measured(ok.Value*service.Value/1e3, ok.N)
	case l.Rated():
		return unrecorded("the throughput is not known")
	}
	return run.Measured(float64(g.Clients), 0) // all of them in a closed loop
}

// setProcessors sets the facts about processors.
func (f *Facts) setProcessors(r *run.Run, spans []run.Span, leader *run.Machine) {
	f.Throttled = known(leader.ShareWithin(spans, metric.GroupThrottledSeconds))
	f.Waiting = known(leader.ShareWithin(spans, metric.RunDelay))
	f.Used = known(leader.ShareWithin(spans, metric.CPUSeconds))
	f.Processors = unrecorded("the number of processors is not known")
	f.Allowed, f.Busy, f.Periods = f.Processors, f.Processors, unrecorded("members have no quota")
	for i, m := range r.Info.Record.Members {
		if i < len(r.Machines.Servers) && &r.Machines.Servers[i] == leader && m.Host != nil && m.Host.CPUs > 0 {
			all := m.Host.AllCPUs() // others there may have processors that this agent may not use
			f.Processors, f.Allowed = run.Counted(int64(all)), run.Measured(m.Host.AllowedCPUs(), 0)
			f.Busy = known(r.UsedAt(i, spans)).Times(1 / float64(all))
		}
	}
	if l := r.Info.Record.Resources; l != nil && l.CPUs > 0 {
		if f.Allowed.Known() {
			f.Allowed.Value = min(f.Allowed.Value, l.CPUs)
		}
		f.Periods = known(leader.ShareWithin(spans, metric.GroupThrottledPeriods)).Times(l.Period.Seconds())
	}
	f.Members = Load{run.Measured(0, 0), run.Measured(0, 0)}
	for i := range r.Machines.Servers {
		f.Members.add(&r.Machines.Servers[i], spans)
	}
	f.Majority = majority(r.Machines.Servers, leader, spans)
	f.Clients = Load{run.Measured(0, 0), run.Measured(0, 0)}
	f.Clients.add(&r.Machines.Client, spans)
	if r.Info.Record.ByGenerators() {
		why := unrecorded("the clients were on other machines")
		f.Clients = Load{why, why}
	}
	f.ClientsBusy = unrecorded("the clients' processors are not known")
	if m := r.Info.Manifest; m != nil && m.Client.AllowedCPUs() > 0 && f.Clients.Used.Known() {
		f.ClientsBusy = f.Clients.Used.Times(1 / m.Client.AllowedCPUs())
	}
}

// add adds processor time and waits in the processes on a machine.
func (l *Load) add(m *run.Machine, spans []run.Span) {
	plus := func(sum *run.Measure, n metric.Name) {
		switch one := known(m.ShareWithin(spans, n)); {
		case !sum.Known():
		case !one.Known():
			*sum = one
		default:
			sum.Value, sum.N = sum.Value+one.Value, sum.N+one.N
		}
	}
	plus(&l.Waiting, metric.RunDelay)
	plus(&l.Used, metric.CPUSeconds)
}

// majority counts threads that waited for a processor, on average, in the leader and in as many
// other members as make a majority with it: the members with the most waits. Requests wait for no
// more members.
func majority(members []run.Machine, leader *run.Machine, spans []run.Span) run.Measure {
	sum, others := known(leader.ShareWithin(spans, metric.RunDelay)), []run.Measure{}
	for i := range members {
		if m := &members[i]; m != leader {
			one := known(m.ShareWithin(spans, metric.RunDelay))
			if !one.Known() {
				return one
			}
			others = append(others, one)
		}
	}
	slices.SortFunc(others, func(a, b run.Measure) int { return cmp.Compare(b.Value, a.Value) })
	for _, one := range others[:len(members)/2] {
		sum.Value, sum.N = sum.Value+one.Value, sum.N+one.N
	}
	return sum
}

// setWrites sets the reason why the facts about writes are missing.
func (f *Facts) setWrites(why run.Measure) {
	f.Inside, f.Syncing, f.Sync, f.FollowersSync, f.Queue, f.Agreement, f.Trip = why, why, why, why, why, why, why
}

// known replaces the words in a measure without a value.
func known(m run.Measure) run.Measure {
	if m.Known() {
		return m
	}
	return unrecorded(m.Missing)
}

// writesOnly reports whether all requests in a stage replace, add or remove keys.
func writesOnly(r *run.Run, g *run.Stage) bool {
	for _, o := range g.Operations {
		if op := workload.Op(o.Operation); !op.SendsValue() && !op.Deletes() || op.Reads() {
			return false
		}
	}
	return len(g.Operations) > 0
}

// insideOf is the mean time for a write in the members, over all members that report it.
func insideOf(r *run.Run, spans []run.Span) run.Measure {
	sum, count := 0.0, 0.0
	for i := range r.Machines.Servers {
		m := &r.Machines.Servers[i]
		s, n := m.Own.Inside(spans, metric.WriteSeconds), m.Own.Inside(spans, metric.Writes)
		if !s.Known() || !n.Known() {
			if m.Own.Reports(metric.Writes) {
				return unrecorded(m.Name + ": " + s.Missing + n.Missing)
			}
			continue
		}
		sum, count = sum+s.Value, count+n.Value
	}
	if count == 0 {
		return unrecorded("no member reported the time of writes")
	}
	return run.Measured(1e3*sum/count, int64(count))
}
