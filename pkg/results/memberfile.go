package results

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// memberColumns declares members.csv, in column order. Each row read must name a member below
// members, or an unknown one.
func memberColumns(members int) []linefile.Column[MemberSecond] {
	columns := []linefile.Column[MemberSecond]{
		linefile.IntColumn("second", func(m *MemberSecond) *int64 { return &m.Second }),
		linefile.IntColumn("step", func(m *MemberSecond) *int { return &m.Step }),
		linefile.TextColumn("phase", func(m *MemberSecond) *Phase { return &m.Phase }),
		linefile.IntColumn("member", func(m *MemberSecond) *int { return &m.Member }).Checked(func(m *MemberSecond) error { return checkMember(m.Member, members) }),
		linefile.IntColumn("ok", func(m *MemberSecond) *int64 { return &m.OK }),
		linefile.IntColumn("failed", func(m *MemberSecond) *int64 { return &m.Failed }),
		linefile.IntColumn("unknown", func(m *MemberSecond) *int64 { return &m.Unknown }),
	}
	for _, t := range timings() {
		prefix := string(t.name)
		columns = append(columns,
			linefile.IntColumn(prefix+"_sum_ns", func(m *MemberSecond) *int64 { return &t.extent(m).SumNS }),
			linefile.IntColumn(prefix+"_min_ns", func(m *MemberSecond) *int64 { return &t.extent(m).MinNS }),
			linefile.IntColumn(prefix+"_max_ns", func(m *MemberSecond) *int64 { return &t.extent(m).MaxNS }))
	}
	return columns
}

// MemberWriter appends to members.csv. It is not safe for concurrent use.
type MemberWriter struct {
	table linefile.TableWriter[MemberSecond]
}

// NewMemberWriter opens or creates the file; a new one gets its header at once.
func NewMemberWriter(path string) (*MemberWriter, error) {
	table, err := linefile.NewTableWriter(path, memberColumns(0))
	if err != nil {
		return nil, err
	}
	return &MemberWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *MemberWriter) Write(rows []MemberSecond) error { return w.table.Write(rows) }

// Close closes the file.
func (w *MemberWriter) Close() error { return w.table.Close() }

// NewMemberHistogram returns an empty histogram for nanoseconds as [histogram.New] does, with two
// significant digits: each member has one per step, for its measured ok requests.
func NewMemberHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(histogram.MaxLatency), 2)
}

// EachMemberSecond calls each with one members.csv row after another. A row for a member beyond
// members is an error; other errors are as in [ReadIntervals]. A row is valid until the next.
func EachMemberSecond(path string, members int, each func(*MemberSecond)) error {
	return linefile.EachRow(path, memberColumns(members), linefile.OneRow[MemberSecond], each)
}

// MemberSeries names one histogram in latency-members.hlog.
type MemberSeries struct {
	Timing Timing
	Step   int
	// Member is an index as in the manifest, from 0; -1 if it is not known.
	Member int
}

// Tag returns the series as a log line tag: TIMING:memberN:ok:stepN:measure.
func (s MemberSeries) Tag() string {
	return Series{Timing: s.Timing, Operation: "member" + strconv.Itoa(s.Member), Outcome: workload.OK, Step: s.Step, Phase: PhaseMeasure}.Tag()
}

// ReadMemberHistograms reads latency-members.hlog for a run with that many members. It returns
// errors from [histogram.ReadLog] with the histograms read before them.
func ReadMemberHistograms(path string, members int) (map[MemberSeries]*hdrhistogram.Histogram, error) {
	out := map[MemberSeries]*hdrhistogram.Histogram{}
	for l, err := range histogram.ReadLog(path) {
		if err != nil {
			return out, err
		}
		s, err := ParseSeries(l.Tag)
		if err != nil {
			return out, &SyntaxError{File: path, Line: l.Line, Reason: err.Error()}
		}
		number, ok := strings.CutPrefix(s.Operation, "member")
		member, err := strconv.Atoi(number)
		if !ok || err != nil {
			return out, &SyntaxError{File: path, Line: l.Line, Reason: fmt.Sprintf("tag %q must name a member, got %q", l.Tag, s.Operation)}
		}
		if err := checkMember(member, members); err != nil {
			return out, &SyntaxError{File: path, Line: l.Line, Reason: err.Error()}
		}
		out[MemberSeries{s.Timing, s.Step, member}] = l.Histogram
	}
	return out, nil
}

// Merge adds another row's requests.
func (m *MemberSecond) Merge(o *MemberSecond) {
	for _, t := range timings() {
		to, from := t.extent(m), t.extent(o)
		if o.OK > 0 && (m.OK == 0 || from.MinNS < to.MinNS) {
			to.MinNS = from.MinNS
		}
		to.MaxNS = max(to.MaxNS, from.MaxNS)
		to.SumNS += from.SumNS
	}
	m.OK += o.OK
	m.Failed += o.Failed
	m.Unknown += o.Unknown
}
