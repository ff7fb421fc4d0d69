package loadwire

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Encoder makes messages of records. Messages keep nothing of what they are made of. It is
// not safe for concurrent use.
type Encoder struct{ v2 histogram.V2 }

// Second encodes one second. All of it is of one unix second and one step.
func (e *Encoder) Second(s load.Second) (*pb.LoadSecond, error) {
	if len(s.Intervals) == 0 {
		return nil, fmt.Errorf("a second must have rows, got none at %v", s.Start)
	}
	m := &pb.LoadSecond{Second: s.Intervals[0].Second, Step: int32(s.Intervals[0].Step), Last: s.Last}
	for i := range s.Intervals {
		m.Intervals = append(m.Intervals, intervalMessage(&s.Intervals[i]))
	}
	for i := range s.Progress {
		m.Progress = append(m.Progress, progressMessage(&s.Progress[i]))
	}
	for _, a := range s.Answers {
		m.Answers = append(m.Answers, &pb.LoadAnswers{FirstNs: a.First, LastNs: a.Last})
	}
	for i := range s.Members {
		m.Members = append(m.Members, memberMessage(&s.Members[i]))
	}
	for i := range s.Errors {
		m.Errors = append(m.Errors, errorMessage(&s.Errors[i]))
	}
	for _, list := range [...][]load.Latency{s.Latencies, s.Failures} {
		for _, l := range list {
			h, err := e.histogram(l.Histogram)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.Series.Tag(), err)
			}
			m.Histograms = append(m.Histograms, &pb.LoadHistogram{
				Timing: string(l.Series.Timing), Operation: l.Series.Operation, Outcome: l.Series.Outcome.String(), Phase: string(l.Series.Phase), V2: h,
			})
		}
	}
	return m, nil
}

// Member encodes the histogram of one member in a whole step.
func (e *Encoder) Member(t load.MemberTotal) (*pb.LoadMemberTotal, error) {
	h, err := e.histogram(t.Histogram)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Series.Tag(), err)
	}
	return &pb.LoadMemberTotal{
		Timing: string(t.Series.Timing), Step: int32(t.Series.Step), Member: int32(t.Series.Member), V2: h,
		StartUnixNs: unixNano(t.Start), EndUnixNs: unixNano(t.End),
	}, nil
}

func (e *Encoder) histogram(h *hdrhistogram.Histogram) ([]byte, error) { return e.v2.Append(nil, h) }

func intervalMessage(r *results.Interval) *pb.LoadInterval {
	m := &pb.LoadInterval{
		Phase: string(r.Phase), Operation: r.Operation, Clients: int32(r.Clients),
		Due: r.Due, Sent: r.Sent, Ok: r.OK, Failed: r.Failed, Unknown: r.Unknown, Shed: r.Shed, Unsent: r.Unsent, Queued: r.Queued, Late: r.Late,
		Backlog: r.Backlog, InFlight: r.InFlight, KeysCumulative: r.KeysCumulative,
		WaitingNs: r.WaitingNS, GapNs: r.GapNS, WrittenBytes: r.WrittenBytes,
	}
	for _, t := range results.Timings {
		for _, o := range workload.Outcomes {
			l := r.Latency(t, o)
			m.Latencies = append(m.Latencies, &pb.LoadLatency{
				Count: l.Count, SumNs: l.SumNS, SumSqMs2: l.SumSqMS2, MinNs: l.MinNS, MaxNs: l.MaxNS,
				P50Ns: l.P50, P90Ns: l.P90, P99Ns: l.P99, P999Ns: l.P999,
			})
		}
	}
	return m
}

func progressMessage(r *results.Progress) *pb.LoadProgress {
	return &pb.LoadProgress{
		FromNs: r.FromNS, ToNs: r.ToNS, Operation: r.Operation,
		Due: r.Due, Ok: r.OK, Failed: r.Failed, Unknown: r.Unknown, Shed: r.Shed, Unsent: r.Unsent, InFlight: r.InFlight,
		FirstOkNs: r.FirstOKNS, LastOkNs: r.LastOKNS,
	}
}

func memberMessage(r *results.MemberSecond) *pb.LoadMember {
	return &pb.LoadMember{
		Phase: string(r.Phase), Member: int32(r.Member), Ok: r.OK, Failed: r.Failed, Unknown: r.Unknown,
		Response: extentMessage(r.Response), Service: extentMessage(r.Service),
	}
}

func extentMessage(e results.Extent) *pb.LoadExtent {
	return &pb.LoadExtent{SumNs: e.SumNS, MinNs: e.MinNS, MaxNs: e.MaxNS}
}

func errorMessage(r *results.ErrorCount) *pb.LoadError {
	return &pb.LoadError{
		Phase: string(r.Phase), Operation: r.Operation, Class: text(r.Class), Count: r.Count,
		FirstText: text(r.FirstText), FirstUnixNs: unixNano(r.FirstTime), Message: text(r.Message),
	}
}
