package loadwire

import (
	"errors"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Decoder makes records from messages, in memory that it reuses: a record is valid until the
// next call. It is not safe for concurrent use.
type Decoder struct {
	second     load.Second
	histograms []*hdrhistogram.Histogram
	member     *hdrhistogram.Histogram
}

// maxHistograms bounds the histograms in one second, 221 KB each. A load has a few for each
// operation and phase.
const maxHistograms = 1 << 10

// Second decodes one second. The merger checks that its parts fit each other.
func (d *Decoder) Second(m *pb.LoadSecond) (load.Second, error) {
	s := &d.second
	*s = load.Second{
		Start: unixTime(m.GetSecond() * 1e9), Last: m.GetLast(), Intervals: s.Intervals[:0], Errors: s.Errors[:0],
		Progress: s.Progress[:0], Answers: s.Answers[:0], Members: s.Members[:0], Latencies: s.Latencies[:0], Failures: s.Failures[:0],
	}
	second, step := m.GetSecond(), int(m.GetStep())
	if err := errors.Join(
		decodeRows(&s.Intervals, m.GetIntervals(), func(r *results.Interval) { r.Second, r.Step = second, step }),
		decodeRows(&s.Progress, m.GetProgress(), func(r *results.Progress) { r.Step = step }),
		decodeRows(&s.Members, m.GetMembers(), func(r *results.MemberSecond) { r.Second, r.Step = second, step }),
		decodeRows(&s.Errors, m.GetErrors(), func(r *results.ErrorCount) {
			r.Second, r.Step, r.FirstTime = second, step, r.FirstTime.UTC()
		}),
	); err != nil {
		return load.Second{}, err
	}
	for _, a := range m.GetAnswers() {
		s.Answers = append(s.Answers, load.Answers{First: a.GetFirstNs(), Last: a.GetLastNs()})
	}
	if err := d.latencies(m); err != nil {
		return load.Second{}, err
	}
	return *s, nil
}

// latencies decodes a second's histograms.
func (d *Decoder) latencies(m *pb.LoadSecond) error {
	if n := len(m.GetHistograms()); n > maxHistograms {
		return fmt.Errorf("a second must have at most %d histograms, got %d", maxHistograms, n)
	}
	for i, h := range m.GetHistograms() {
		outcome, err := outcomeOf(h.GetOutcome())
		if err != nil {
			return err
		}
		if i == len(d.histograms) {
			d.histograms = append(d.histograms, histogram.New())
		}
		l := load.Latency{Histogram: d.histograms[i], Series: results.Series{
			Timing: results.Timing(h.GetTiming()), Operation: h.GetOperation(), Outcome: outcome, Step: int(m.GetStep()), Phase: results.Phase(h.GetPhase()),
		}}
		if err := histogram.DecodeV2(h.GetV2(), l.Histogram); err != nil {
			return fmt.Errorf("%s: %w", l.Series.Tag(), err)
		}
		if outcome == workload.OK {
			d.second.Latencies = append(d.second.Latencies, l)
		} else {
			d.second.Failures = append(d.second.Failures, l)
		}
	}
	return nil
}

// Member decodes one member's histogram for a whole step.
func (d *Decoder) Member(m *pb.LoadMemberTotal) (load.MemberTotal, error) {
	if d.member == nil {
		d.member = results.NewMemberHistogram()
	}
	t := load.MemberTotal{
		Series:    results.MemberSeries{Timing: results.Timing(m.GetTiming()), Step: int(m.GetStep()), Member: int(m.GetMember())},
		Histogram: d.member, Start: unixTime(m.GetStartUnixNs()), End: unixTime(m.GetEndUnixNs()),
	}
	if !slices.Contains(results.Timings[:], t.Series.Timing) {
		return load.MemberTotal{}, fmt.Errorf("the clock of a member's histogram must be one of %v, got %q", results.Timings, t.Series.Timing)
	}
	if err := histogram.DecodeV2(m.GetV2(), d.member); err != nil {
		return load.MemberTotal{}, fmt.Errorf("%s: %w", t.Series.Tag(), err)
	}
	return t, nil
}

// outcomeOf returns the outcome with a name.
func outcomeOf(name string) (workload.Outcome, error) {
	for _, o := range workload.LatencyOutcomes {
		if o.String() == name {
			return o, nil
		}
	}
	return 0, fmt.Errorf("the outcome of a histogram must be one of %v, got %q", workload.LatencyOutcomes, name)
}
