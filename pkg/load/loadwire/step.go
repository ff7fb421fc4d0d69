package loadwire

import (
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
func EndMessage(e issuer.End) *pb.StepEnd {
	r := &e.Result
	m := &pb.StepEnd{
		StartUnixNs: unixNano(r.Start), EndUnixNs: unixNano(r.End), IssueEndUnixNs: unixNano(r.IssueEnd), FirstSentUnixNs: unixNano(r.FirstSent),
		InsideNs: int64(r.Inside), ClientDelayNs: int64(r.ClientDelay), WaitingNs: int64(r.Waiting),
		Lost: r.Lost, Reconnects: r.Reconnects, Resent: r.Resent, VersionReads: r.VersionReads, Requests: r.Requests,
		ObserverWaits: r.ObserverWaits.Count, ObserverWaitsNs: r.ObserverWaits.NS,
		FirstSentNs: int64(e.FirstSent), Totals: totalsMessage(e.Totals), CreatedSurely: e.CreatedSurely, CreatedPerhaps: e.CreatedPerhaps,
		SchedulingLag: spreadMessage(e.SchedulingLag), Lateness: spreadMessage(e.Lateness), Stops: stopsMessage(&e.Stops),
		CpuNs: int64(e.CPU), Error: text(e.Error), Stopped: e.Stopped, MembersGone: e.MembersGone,
	}
	if g := r.LargestGap; g != nil {
		m.LargestGap = &pb.LoadGap{FromNs: g.FromNS, ToNs: g.ToNS, FromStart: g.FromStart, ToEnd: g.ToEnd}
	}
	return m
}

// EndOf decodes the end of a step.
func EndOf(m *pb.StepEnd) issuer.End {
	e := issuer.End{
		Result: load.StepResult{
			Start: unixTime(m.GetStartUnixNs()), End: unixTime(m.GetEndUnixNs()), IssueEnd: unixTime(m.GetIssueEndUnixNs()), FirstSent: unixTime(m.GetFirstSentUnixNs()),
			Inside: time.Duration(m.GetInsideNs()), ClientDelay: time.Duration(m.GetClientDelayNs()), Waiting: time.Duration(m.GetWaitingNs()),
			Lost: m.GetLost(), Reconnects: m.GetReconnects(), Resent: m.GetResent(), VersionReads: m.GetVersionReads(), Requests: m.GetRequests(),
			ObserverWaits: load.Waits{Count: m.GetObserverWaits(), NS: m.GetObserverWaitsNs()},
		},
		FirstSent: time.Duration(m.GetFirstSentNs()), Totals: totalsOf(m.GetTotals()), CreatedSurely: m.GetCreatedSurely(), CreatedPerhaps: m.GetCreatedPerhaps(),
		SchedulingLag: spreadOf(m.GetSchedulingLag()), Lateness: spreadOf(m.GetLateness()), Stops: stopsOf(m.GetStops()),
		CPU: time.Duration(m.GetCpuNs()), Error: m.GetError(), Stopped: m.GetStopped(), MembersGone: m.GetMembersGone(),
	}
	if g := m.GetLargestGap(); g != nil {
		e.Result.LargestGap = &results.Gap{FromNS: g.GetFromNs(), ToNS: g.GetToNs(), FromStart: g.GetFromStart(), ToEnd: g.GetToEnd()}
	}
	return e
}

func totalsMessage(t results.Totals) *pb.LoadTotals {
	return &pb.LoadTotals{
		Offered: t.Offered, Sent: t.Sent, Ok: t.OK, Failed: t.Failed, Unknown: t.Unknown, Shed: t.Shed, Unsent: t.Unsent,
		Queued: t.Queued, Late: t.Late, BytesRead: t.BytesRead, BytesWritten: t.BytesWritten, Clamped: t.Clamped,
	}
}

func totalsOf(m *pb.LoadTotals) results.Totals {
	return results.Totals{
		Offered: m.GetOffered(), Sent: m.GetSent(), OK: m.GetOk(), Failed: m.GetFailed(), Unknown: m.GetUnknown(), Shed: m.GetShed(), Unsent: m.GetUnsent(),
		Queued: m.GetQueued(), Late: m.GetLate(), BytesRead: m.GetBytesRead(), BytesWritten: m.GetBytesWritten(), Clamped: m.GetClamped(),
	}
}

func spreadMessage(s results.Spread) *pb.LoadSpread {
	return &pb.LoadSpread{N: s.N, P50Ns: s.P50, P99Ns: s.P99, P999Ns: s.P999, MaxNs: s.Max}
}

func spreadOf(m *pb.LoadSpread) results.Spread {
	return results.Spread{N: m.GetN(), P50: m.GetP50Ns(), P99: m.GetP99Ns(), P999: m.GetP999Ns(), Max: m.GetMaxNs()}
}

func stopsMessage(s *results.Stops) *pb.LoadStops {
	m := &pb.LoadStops{N: s.N, TotalNs: s.TotalNS, Longest: stretchMessage(s.Longest)}
	for _, one := range s.Stretches {
		m.Stretches = append(m.Stretches, stretchMessage(one))
	}
	return m
}

func stretchMessage(s results.Stretch) *pb.LoadStretch {
	return &pb.LoadStretch{FromUnixNs: unixNano(s.From), LengthNs: int64(s.Length)}
}

func stopsOf(m *pb.LoadStops) results.Stops {
	s := results.Stops{N: m.GetN(), TotalNS: m.GetTotalNs(), Longest: stretchOf(m.GetLongest())}
	for _, one := range m.GetStretches() {
		s.Stretches = append(s.Stretches, stretchOf(one))
	}
	return s
}

func stretchOf(m *pb.LoadStretch) results.Stretch {
	return results.Stretch{From: unixTime(m.GetFromUnixNs()), Length: time.Duration(m.GetLengthNs())}
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
