package loadwire

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Encoder makes messages from records. Messages share no memory with their records. It is
// not safe for concurrent use.
type Encoder struct{ v2 histogram.V2 }

// Second encodes one second. It covers one unix second and one step.
func (e *Encoder) Second(s load.Second) (*pb.LoadSecond, error) {
	if len(s.Intervals) == 0 {
		return nil, fmt.Errorf("a second must have rows, got none at %v", s.Start)
	}
	m := &pb.LoadSecond{Second: s.Intervals[0].Second, Step: int32(s.Intervals[0].Step), Last: s.Last}
	if err := errors.Join(
		encodeRows(&m.Intervals, s.Intervals), encodeRows(&m.Progress, s.Progress),
		encodeRows(&m.Members, s.Members), encodeRows(&m.Errors, s.Errors),
	); err != nil {
		return nil, err
	}
	for _, a := range s.Answers {
		m.Answers = append(m.Answers, &pb.LoadAnswers{FirstNs: a.First, LastNs: a.Last})
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

// Member encodes a member histogram for a whole step.
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
