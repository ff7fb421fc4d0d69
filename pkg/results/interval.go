package results

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/workload"
)

// Interval is one second of one step, phase and operation: one row of intervals.csv. Counts are
// of events in that second.
type Interval struct {
	// Second is the unix second in the client clock.
	Second    int64
	Step      int
	Phase     Phase
	Operation string
	Clients   int

	// Due counts requests whose due time lies in the second; Sent counts requests whose
	// driver call began in it; OK, Failed and Unknown count requests that ended in it.
	Due, Sent, OK, Failed, Unknown int64
	Shed, Unsent                   int64
	// Queued counts requests sent in this second whose due time had passed while every
	// client, or with bind: client their own, was busy. Late counts requests that the client
	// itself sent more than a millisecond after due: a client was free and woke late, or all
	// were busy only because the client had been stopped.
	Queued, Late int64
	// Backlog and InFlight are gauges for the operation when the second ends. KeysCumulative counts
	// the keys created by all operations since the load began. The three are in the last row of the
	// operation in a second and are 0 in others; [Gauges] adds them up.
	Backlog, InFlight, KeysCumulative int64

	// WaitingNS is client time without a server, over all operations. It is in the row for the
	// first operation in a phase.
	WaitingNS int64
	// GapNS is the time in which the client process did not run. It covers the whole step and is in
	// the first row of a second.
	GapNS int64

	// WrittenBytes counts the key and value bytes that the ok requests wrote.
	WrittenBytes int64

	// Response is timed from due, Service from sent; indexed by [Outcome]. A closed
	// loop records service only.
	Response, Service [3]Latency
}

// Gauge is a load's state at the end of a second, over all operations.
type Gauge struct {
	Second int64
	// Backlog counts requests due and not sent, InFlight requests sent and not ended.
	Backlog, InFlight int64
	// KeysCumulative counts the keys created since the load began.
	KeysCumulative int64
}

// BySecond yields each second's intervals together, seconds ascending, and within a second in
// file order. A slice is valid until the next.
func BySecond(intervals []Interval) iter.Seq[[]*Interval] {
	return func(yield func([]*Interval) bool) {
		place := func(i int) int { return i }
		if !inOrder(intervals) {
			order := make([]int, len(intervals))
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(intervals[a].Second, intervals[b].Second) })
			place = func(i int) int { return order[i] }
		}
		var rows []*Interval
		for i := range intervals {
			v := &intervals[place(i)]
			if len(rows) > 0 && rows[0].Second != v.Second {
				if !yield(rows) {
					return
				}
				rows = rows[:0]
			}
			rows = append(rows, v)
		}
		if len(rows) > 0 {
			yield(rows)
		}
	}
}

// inOrder reports whether seconds never decrease from one interval to the next.
func inOrder(intervals []Interval) bool {
	for i := 1; i < len(intervals); i++ {
		if intervals[i].Second < intervals[i-1].Second {
			return false
		}
	}
	return true
}

// Gauges returns one gauge per second that intervals cover, ascending; intervals are in file
// order.
func Gauges(intervals []Interval) (out []Gauge) {
	for rows := range BySecond(intervals) {
		g := Gauge{Second: rows[0].Second}
		for i, v := range rows {
			if slices.ContainsFunc(rows[i+1:], func(later *Interval) bool { return later.Operation == v.Operation }) {
				continue
			}
			g.Backlog += v.Backlog
			g.InFlight += v.InFlight
			g.KeysCumulative = max(g.KeysCumulative, v.KeysCumulative)
		}
		out = append(out, g)
	}
	return slices.Clip(out)
}

// timing declares where records hold a timing, in nanoseconds. The columns of intervals.csv and
// members.csv, and the sums of rows, follow from it.
type timing struct {
	name  Timing
	rated bool // only steps with a rate have it
	// latencies are for a second, by outcome; extent covers a member's ok requests.
	latencies func(*Interval) *[3]Latency
	extent    func(*MemberSecond) *Extent
}

// timings declares each timing in [Timings], in that order.
func timings() [len(Timings)]timing {
	return [...]timing{
		{TimingResponse, true, func(i *Interval) *[3]Latency { return &i.Response }, func(m *MemberSecond) *Extent { return &m.Response }},
		{TimingService, false, func(i *Interval) *[3]Latency { return &i.Service }, func(m *MemberSecond) *Extent { return &m.Service }},
	}
}

// TimingOf returns the timing for the figures of a step: from due where requests have due times,
// else from sent, because in a closed loop a request is due when it is sent.
func TimingOf(rated bool) Timing {
	for _, t := range timings() {
		if t.rated == rated {
			return t.name
		}
	}
	return TimingService
}

// Latency returns the latencies recorded for a timing and an outcome.
func (i *Interval) Latency(t Timing, o workload.Outcome) *Latency {
	for _, declared := range timings() {
		if declared.name == t {
			return &declared.latencies(i)[o]
		}
	}
	panic(fmt.Sprintf("timing %q is not declared", t))
}

// intervalColumns declares intervals.csv, in column order.
func intervalColumns() []linefile.Column[Interval] {
	columns := []linefile.Column[Interval]{
		linefile.IntColumn("second", func(i *Interval) *int64 { return &i.Second }),
		linefile.IntColumn("step", func(i *Interval) *int { return &i.Step }),
		linefile.TextColumn("phase", func(i *Interval) *Phase { return &i.Phase }),
		linefile.TextColumn("operation", func(i *Interval) *string { return &i.Operation }),
		linefile.IntColumn("clients", func(i *Interval) *int { return &i.Clients }),
		linefile.IntColumn("due", func(i *Interval) *int64 { return &i.Due }),
		linefile.IntColumn("sent", func(i *Interval) *int64 { return &i.Sent }),
		linefile.IntColumn("ok", func(i *Interval) *int64 { return &i.OK }),
		linefile.IntColumn("failed", func(i *Interval) *int64 { return &i.Failed }),
		linefile.IntColumn("unknown", func(i *Interval) *int64 { return &i.Unknown }),
		linefile.IntColumn("shed", func(i *Interval) *int64 { return &i.Shed }),
		linefile.IntColumn("unsent", func(i *Interval) *int64 { return &i.Unsent }),
		linefile.IntColumn("queued", func(i *Interval) *int64 { return &i.Queued }),
		linefile.IntColumn("late", func(i *Interval) *int64 { return &i.Late }),
		linefile.IntColumn("backlog", func(i *Interval) *int64 { return &i.Backlog }),
		linefile.IntColumn("in_flight", func(i *Interval) *int64 { return &i.InFlight }),
		linefile.IntColumn("keys_cumulative", func(i *Interval) *int64 { return &i.KeysCumulative }),
	}
	for _, t := range timings() {
		for _, o := range workload.Outcomes {
			columns = append(columns, latencyColumns(t, o)...)
		}
	}
	waiting := linefile.IntColumn("waiting_ns", func(i *Interval) *int64 { return &i.WaitingNS })
	waiting.Optional = true // missing from older files
	gap := linefile.IntColumn("client_gap_ns", func(i *Interval) *int64 { return &i.GapNS })
	gap.Optional = true // likewise
	written := linefile.IntColumn("written_bytes", func(i *Interval) *int64 { return &i.WrittenBytes })
	written.Optional = true // likewise
	return append(columns, waiting, gap, written)
}

// latencyColumns returns the columns for one timing and outcome.
func latencyColumns(t timing, o workload.Outcome) []linefile.Column[Interval] {
	prefix := string(t.name) + "_" + o.String() + "_"
	at := func(i *Interval) *Latency { return &t.latencies(i)[o] }
	return []linefile.Column[Interval]{
		linefile.IntColumn(prefix+"count", func(i *Interval) *int64 { return &at(i).Count }),
		linefile.IntColumn(prefix+"sum_ns", func(i *Interval) *int64 { return &at(i).SumNS }),
		linefile.FloatColumn(prefix+"sum_sq_ms2", func(i *Interval) *float64 { return &at(i).SumSqMS2 }),
		linefile.IntColumn(prefix+"min_ns", func(i *Interval) *int64 { return &at(i).MinNS }),
		linefile.IntColumn(prefix+"max_ns", func(i *Interval) *int64 { return &at(i).MaxNS }),
		linefile.IntColumn(prefix+"p50_ns", func(i *Interval) *int64 { return &at(i).P50 }),
		linefile.IntColumn(prefix+"p90_ns", func(i *Interval) *int64 { return &at(i).P90 }),
		linefile.IntColumn(prefix+"p99_ns", func(i *Interval) *int64 { return &at(i).P99 }),
		linefile.IntColumn(prefix+"p999_ns", func(i *Interval) *int64 { return &at(i).P999 }),
	}
}

// IntervalWriter appends to intervals.csv. It is not safe for concurrent use.
type IntervalWriter struct {
	table linefile.TableWriter[Interval]
}

// NewIntervalWriter opens or creates the file; a new one gets its header at
// once.
func NewIntervalWriter(path string) (*IntervalWriter, error) {
	table, err := linefile.NewTableWriter(path, intervalColumns())
	if err != nil {
		return nil, err
	}
	return &IntervalWriter{table}, nil
}

// Write appends the rows and returns when the kernel has them. After an error
// every Write returns that error.
func (w *IntervalWriter) Write(rows []Interval) error { return w.table.Write(rows) }

// Close closes the file.
func (w *IntervalWriter) Close() error { return w.table.Close() }

// ReadIntervals reads intervals.csv. Columns are found by name. When the last line is
// incomplete, as a killed run leaves it, ReadIntervals returns the rows before it with an
// error matching [ErrTruncated]. For malformed data it returns the rows before it with a
// [*SyntaxError].
func ReadIntervals(path string) ([]Interval, error) {
	return linefile.ReadTable(path, intervalColumns(), linefile.ZeroRows[Interval])
}
