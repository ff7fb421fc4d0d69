package results

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/histogram"
	"github.com/coreos/dbtester/pkg/workload"
)

// Extent is the sum and the extremes of latencies in nanoseconds.
type Extent struct{ SumNS, MinNS, MaxNS int64 }

// Add adds a latency; count is the number of latencies including it.
func (e *Extent) Add(count, ns int64) {
	if count == 1 || ns < e.MinNS {
		e.MinNS = ns
	}
	e.MaxNS = max(e.MaxNS, ns)
	e.SumNS += ns
}

// MemberSecond counts one member's answers in one second of one step and phase: one row of
// members.csv. A request belongs to the member that its connection went to when it was
// sent. Rows without a request are left out.
type MemberSecond struct {
	// Second is the unix second in the client's clock.
	Second int64
	Step   int
	Phase  Phase
	// Member is an index as in the manifest, from 0; -1 if it is not known.
	Member int
	// OK, Failed and Unknown count requests that ended in the second.
	OK, Failed, Unknown int64
	// Response and Service are of the ok requests. A closed loop has service only.
	Response, Service Extent
}

// Count counts a request.
func (m *MemberSecond) Count(o workload.Outcome) {
	switch o {
	case workload.OK:
		m.OK++
	case workload.Failed:
		m.Failed++
	default:
		m.Unknown++
	}
}

// Merge adds the requests of another row.
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

// memberColumns declares members.csv, in the order of its columns. A row that is read must
// be of a member below the number of members, or of an unknown one.
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

// NewMemberHistogram returns an empty histogram of nanoseconds as
// [histogram.New] does, with two significant digits: each member of each step has
// one, of its measured ok requests.
func NewMemberHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(histogram.MaxLatency), 2)
}

// checkMember returns why there is no member of an index; -1 is an unknown member.
func checkMember(index, members int) error {
	if index == -1 {
		return nil
	}
	return declared.CheckMember(index, 0, members)
}

// EachMemberSecond calls each with one row of members.csv after another. A row of a member
// beyond the number of members is an error; other errors are as in [ReadIntervals]. A
// row is valid until the next.
func EachMemberSecond(path string, members int, each func(*MemberSecond)) error {
	return linefile.EachRow(path, memberColumns(members), linefile.OneRow[MemberSecond], each)
}

// MemberSeries names one histogram of latency-members.hlog.
type MemberSeries struct {
	Timing Timing
	Step   int
	// Member is an index as in the manifest, from 0; -1 if it is not known.
	Member int
}

// Tag returns the series as the tag of a log line: TIMING:memberN:ok:stepN:measure.
func (s MemberSeries) Tag() string {
	return Series{Timing: s.Timing, Operation: "member" + strconv.Itoa(s.Member), Outcome: workload.OK, Step: s.Step, Phase: PhaseMeasure}.Tag()
}

// ReadMemberHistograms reads latency-members.hlog of a run with a number of members. It
// returns the errors of [histogram.ReadLog] with the histograms read before them.
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

// MemberSummary is the measured population of one member in one step.
type MemberSummary struct {
	// MemberSecond has the counts and latencies of the whole step; its Second is 0.
	MemberSecond
	// Histogram is of the ok requests, by the step's [DatabaseRun.Timing]; nil if there
	// is none, such as after a killed run.
	Histogram *hdrhistogram.Histogram
}

// SummarizeMembers sums up each member's answers, by step and member. Records of format 1
// lack them: missing is then [NotRecorded]. It calls each with the rows of members.csv,
// including the rows before an error; a row is valid until the next.
func SummarizeMembers(dir string, run *DatabaseRun, each func(*MemberSecond)) (members []MemberSummary, missing Reason, err error) {
	type place struct{ step, member int }
	all := map[place]*MemberSummary{}
	err = EachMemberSecond(filepath.Join(dir, FileMembers), len(run.Members), func(m *MemberSecond) {
		each(m)
		if m.Phase != PhaseMeasure {
			return
		}
		p := place{m.Step, m.Member}
		if all[p] == nil {
			all[p] = &MemberSummary{MemberSecond: MemberSecond{Step: m.Step, Phase: m.Phase, Member: m.Member}}
		}
		all[p].Merge(m)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NotRecorded, nil
	}
	if err != nil && !errors.Is(err, ErrTruncated) {
		return nil, "", err
	}
	histograms, err := ReadMemberHistograms(filepath.Join(dir, FileMembersLatency), len(run.Members))
	if err != nil && !errors.Is(err, ErrTruncated) && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	order := func(a, b place) int { return (a.step-b.step)<<20 + a.member - b.member }
	for _, p := range slices.SortedFunc(maps.Keys(all), order) {
		all[p].Histogram = histograms[MemberSeries{run.Timing(p.step), p.step, p.member}]
		members = append(members, *all[p])
	}
	return members, "", nil
}

// Role distinguishes the leader from followers, second by second.
type Role string

// The roles. Every member has RoleUnknown in a second in which the leader changed or was
// not known.
const (
	RoleLeader   Role = "leader"
	RoleFollower Role = "follower"
	RoleUnknown  Role = "unknown"
)

// RoleSums are the measured rows of members.csv, summed by the role that the member had
// in the second.
type RoleSums map[Role]MemberSecond

// Add adds a row if it is measured. The leader is known as far as the manifest and the
// events name it.
func (r RoleSums) Add(run *DatabaseRun, m *MemberSecond, events []Event) {
	if m.Phase != PhaseMeasure {
		return
	}
	role := RoleUnknown
	if leader := leaderIn(run, m.Second, events); leader >= 0 && m.Member >= 0 {
		if role = RoleFollower; leader == m.Member {
			role = RoleLeader
		}
	}
	sum := r[role]
	sum.Merge(m)
	r[role] = sum
}

// Merge adds other sums.
func (r RoleSums) Merge(o RoleSums) {
	for role, one := range o {
		sum := r[role]
		sum.Merge(&one)
		r[role] = sum
	}
}

// leaderIn returns the member that led throughout a second, -1 if not known.
func leaderIn(run *DatabaseRun, second int64, events []Event) int {
	leader := run.Leader
	from := time.Unix(second, 0)
	for _, e := range events {
		switch {
		case e.Kind != EventLeader || e.Time.Before(run.LoadStart):
		case !e.Time.Before(from) && e.Time.Before(from.Add(time.Second)):
			return -1
		case e.Time.Before(from):
			leader = e.Member
		}
	}
	return leader
}
