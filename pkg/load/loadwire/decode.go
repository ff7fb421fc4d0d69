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

// Decoder makes records of messages, in memory that the next one uses again: a record is
// valid until the next call. It is not safe for concurrent use.
type Decoder struct {
	second     load.Second
	histograms []*hdrhistogram.Histogram
	member     *hdrhistogram.Histogram
}

// maxHistograms bounds the histograms of one second: 221 KB each. A load has a few for each
// operation and phase.
const maxHistograms = 1 << 10

// Second decodes one second. Whether its parts fit each other is checked where it is
// merged.
func (d *Decoder) Second(m *pb.LoadSecond) (load.Second, error) {
	s := &d.second
	*s = load.Second{
		Start: unixTime(m.GetSecond() * 1e9), Last: m.GetLast(), Intervals: s.Intervals[:0], Errors: s.Errors[:0],
		Progress: s.Progress[:0], Answers: s.Answers[:0], Members: s.Members[:0], Latencies: s.Latencies[:0], Failures: s.Failures[:0],
	}
	second, step := m.GetSecond(), int(m.GetStep())
	for _, r := range m.GetIntervals() {
		row, err := intervalOf(r)
		if err != nil {
			return load.Second{}, err
		}
		row.Second, row.Step = second, step
		s.Intervals = append(s.Intervals, row)
	}
	for _, r := range m.GetProgress() {
		row := progressOf(r)
		row.Step = step
		s.Progress = append(s.Progress, row)
	}
	for _, a := range m.GetAnswers() {
		s.Answers = append(s.Answers, load.Answers{First: a.GetFirstNs(), Last: a.GetLastNs()})
	}
	for _, r := range m.GetMembers() {
		row := memberOf(r)
		row.Second, row.Step = second, step
		s.Members = append(s.Members, row)
	}
	for _, r := range m.GetErrors() {
		row := errorOf(r)
		row.Second, row.Step = second, step
		s.Errors = append(s.Errors, row)
	}
	if err := d.latencies(m); err != nil {
		return load.Second{}, err
	}
	return *s, nil
}

// latencies decodes the histograms of a second.
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

// Member decodes the histogram of one member in a whole step.
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

// outcomeOf returns the outcome of a name.
func outcomeOf(name string) (workload.Outcome, error) {
	for _, o := range workload.LatencyOutcomes {
		if o.String() == name {
			return o, nil
		}
	}
	return 0, fmt.Errorf("the outcome of a histogram must be one of %v, got %q", workload.LatencyOutcomes, name)
}

func intervalOf(m *pb.LoadInterval) (results.Interval, error) {
	r := results.Interval{
		Phase: results.Phase(m.GetPhase()), Operation: m.GetOperation(), Clients: int(m.GetClients()),
		Due: m.GetDue(), Sent: m.GetSent(), OK: m.GetOk(), Failed: m.GetFailed(), Unknown: m.GetUnknown(),
		Shed: m.GetShed(), Unsent: m.GetUnsent(), Queued: m.GetQueued(), Late: m.GetLate(),
		Backlog: m.GetBacklog(), InFlight: m.GetInFlight(), KeysCumulative: m.GetKeysCumulative(),
		WaitingNS: m.GetWaitingNs(), GapNS: m.GetGapNs(), WrittenBytes: m.GetWrittenBytes(),
	}
	all := m.GetLatencies()
	if len(all) != len(results.Timings)*len(workload.Outcomes) {
		return r, errors.New("a row must have a latency for each clock and outcome")
	}
	for _, t := range results.Timings {
		for _, o := range workload.Outcomes {
			l := all[0]
			all = all[1:]
			*r.Latency(t, o) = results.Latency{
				Count: l.GetCount(), SumNS: l.GetSumNs(), SumSqMS2: l.GetSumSqMs2(), MinNS: l.GetMinNs(), MaxNS: l.GetMaxNs(),
				P50: l.GetP50Ns(), P90: l.GetP90Ns(), P99: l.GetP99Ns(), P999: l.GetP999Ns(),
			}
		}
	}
	return r, nil
}

func progressOf(m *pb.LoadProgress) results.Progress {
	return results.Progress{
		FromNS: m.GetFromNs(), ToNS: m.GetToNs(), Operation: m.GetOperation(),
		Due: m.GetDue(), OK: m.GetOk(), Failed: m.GetFailed(), Unknown: m.GetUnknown(), Shed: m.GetShed(), Unsent: m.GetUnsent(), InFlight: m.GetInFlight(),
		FirstOKNS: m.GetFirstOkNs(), LastOKNS: m.GetLastOkNs(),
	}
}

func memberOf(m *pb.LoadMember) results.MemberSecond {
	return results.MemberSecond{
		Phase: results.Phase(m.GetPhase()), Member: int(m.GetMember()), OK: m.GetOk(), Failed: m.GetFailed(), Unknown: m.GetUnknown(),
		Response: extentOf(m.GetResponse()), Service: extentOf(m.GetService()),
	}
}

func extentOf(m *pb.LoadExtent) results.Extent {
	return results.Extent{SumNS: m.GetSumNs(), MinNS: m.GetMinNs(), MaxNS: m.GetMaxNs()}
}

func errorOf(m *pb.LoadError) results.ErrorCount {
	return results.ErrorCount{
		Phase: results.Phase(m.GetPhase()), Operation: m.GetOperation(), Class: m.GetClass(), Count: m.GetCount(),
		FirstText: m.GetFirstText(), FirstTime: unixTime(m.GetFirstUnixNs()), Message: m.GetMessage(),
	}
}
