package loadwire

import (
	"errors"
	"strings"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// StepMessage encodes a step of the whole load, without its functions and its start.
func StepMessage(s load.Step) *pb.LoadStep {
	return &pb.LoadStep{
		Index: int32(s.Index), Clients: int32(s.Clients), Connections: int32(s.Connections), Requests: s.Requests, DurationNs: int64(s.Duration),
		Rate: s.Rate, RateEnd: s.RateEnd, RampNs: int64(s.Ramp), Down: s.Down,
	}
}

// StepOf decodes a step.
func StepOf(m *pb.LoadStep) load.Step {
	return load.Step{Index: int(m.GetIndex()), Step: workload.Step{
		Clients: int(m.GetClients()), Connections: int(m.GetConnections()), Requests: m.GetRequests(), Duration: time.Duration(m.GetDurationNs()),
		Rate: m.GetRate(), RateEnd: m.GetRateEnd(), Ramp: time.Duration(m.GetRampNs()), Down: m.GetDown(),
	}}
}

// EndMessage encodes the end of a step.
func EndMessage(e issuer.End) (m *pb.StepEnd, err error) {
	r := &e.Result
	m = &pb.StepEnd{
		StartUnixNs: unixNano(r.Start), EndUnixNs: unixNano(r.End), IssueEndUnixNs: unixNano(r.IssueEnd), FirstSentUnixNs: unixNano(r.FirstSent),
		InsideNs: int64(r.Inside), ClientDelayNs: int64(r.ClientDelay), WaitingNs: int64(r.Waiting),
		Lost: r.Lost, Reconnects: r.Reconnects, Resent: r.Resent, VersionReads: r.VersionReads, Requests: r.Requests,
		ObserverWaits: r.ObserverWaits.Count, ObserverWaitsNs: r.ObserverWaits.NS,
		FirstSentNs: int64(e.FirstSent), CreatedSurely: e.CreatedSurely, CreatedPerhaps: e.CreatedPerhaps,
		CpuNs: int64(e.CPU), Error: text(e.Error), Stopped: e.Stopped, MembersGone: e.MembersGone,
	}
	var errs [5]error
	m.Totals, errs[0] = encode(&e.Totals)
	m.SchedulingLag, errs[1] = encode(&e.SchedulingLag)
	m.Lateness, errs[2] = encode(&e.Lateness)
	m.Stops, errs[3] = encode(&e.Stops)
	if r.LargestGap != nil {
		m.LargestGap, errs[4] = encode(r.LargestGap)
	}
	return m, errors.Join(errs[:]...)
}

// EndOf decodes the end of a step.
func EndOf(m *pb.StepEnd) (issuer.End, error) {
	e := issuer.End{
		Result: load.StepResult{
			Start: unixTime(m.GetStartUnixNs()), End: unixTime(m.GetEndUnixNs()), IssueEnd: unixTime(m.GetIssueEndUnixNs()), FirstSent: unixTime(m.GetFirstSentUnixNs()),
			Inside: time.Duration(m.GetInsideNs()), ClientDelay: time.Duration(m.GetClientDelayNs()), Waiting: time.Duration(m.GetWaitingNs()),
			Lost: m.GetLost(), Reconnects: m.GetReconnects(), Resent: m.GetResent(), VersionReads: m.GetVersionReads(), Requests: m.GetRequests(),
			ObserverWaits: load.Waits{Count: m.GetObserverWaits(), NS: m.GetObserverWaitsNs()},
		},
		FirstSent: time.Duration(m.GetFirstSentNs()), CreatedSurely: m.GetCreatedSurely(), CreatedPerhaps: m.GetCreatedPerhaps(),
		CPU: time.Duration(m.GetCpuNs()), Error: m.GetError(), Stopped: m.GetStopped(), MembersGone: m.GetMembersGone(),
	}
	errs := []error{
		decodeGiven(m.GetTotals(), &e.Totals), decodeGiven(m.GetSchedulingLag(), &e.SchedulingLag),
		decodeGiven(m.GetLateness(), &e.Lateness), decodeGiven(m.GetStops(), &e.Stops),
	}
	if g := m.GetLargestGap(); g != nil {
		e.Result.LargestGap = &results.Gap{}
		errs = append(errs, decode(g, e.Result.LargestGap))
	}
	e.Stops.Longest.From = e.Stops.Longest.From.UTC()
	for i := range e.Stops.Stretches {
		e.Stops.Stretches[i].From = e.Stops.Stretches[i].From.UTC()
	}
	return e, errors.Join(errs...)
}

// unixNano is 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// unixTime is the inverse of unixNano, in UTC.
func unixTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// text is what a message can hold of a text: valid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
