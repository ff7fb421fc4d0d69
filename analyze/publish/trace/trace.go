// Package trace writes a run as a trace: a JSON file in Chrome's trace event format, which
// ui.perfetto.dev and chrome://tracing open. Counters show its seconds, and slices its steps,
// stalls, events and log lines.
package trace

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
)

const (
	// mostLanes bounds the tracks in one group. Slices without room in them are drawn as instants.
	mostLanes = 16
	// mostText bounds the characters in a name or text.
	mostText = 200
)

// The processes in a trace: the load, and the members from 2. Threads are tracks; readers take one
// with a process's number for its main thread.
const load, firstThread = 1, 1000

// slice is something that happened, in unix nanoseconds. It is an instant if both times are equal.
type slice struct {
	name     string
	from, to int64
	args     args
}

// args are named texts and numbers, in order.
type args []arg

type arg struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (a args) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, one := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, one.name), ':')
		value, err := json.Marshal(one.value)
		if err != nil {
			return nil, fmt.Errorf("write trace: %w", err)
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// group holds the slices of one kind in a process.
type group struct {
	process int
	name    string
	slices  []slice
}

// Write writes the trace of a run. The run must still have its samples.
func Write(w io.Writer, r *run.Run) error {
	groups := groupsOf(r)
	t := &writer{w: bufio.NewWriterSize(w, 64<<10), zero: zeroOf(r, groups)}
	t.begin(r)
	t.name(load, 0, "process_name", text(r.Info.Name())+": load")
	for i := range r.Machines.Servers {
		t.name(load+1+i, 0, "process_name", fmt.Sprintf("%s: member %d", text(r.Info.Name()), i+1))
	}
	thread := firstThread
	for _, g := range groups {
		for i, lane := range laid(g.slices) {
			name := g.name
			if i > 0 {
				name += fmt.Sprintf(" (%d)", i+1)
			}
			t.name(g.process, thread, "thread_name", name)
			t.add(record{Name: "thread_sort_index", Phase: "M", Process: g.process, Thread: thread, Args: args{{"sort_index", thread}}})
			for _, s := range lane {
				t.slice(g.process, thread, s)
			}
			thread++
		}
	}
	t.counters(r)
	return t.end()
}

// zeroOf returns the time that is zero in a trace: when the first second of the load begins, or as
// many whole seconds earlier as all slices need.
func zeroOf(r *run.Run, groups []group) int64 {
	zero := r.Start() * 1e9
	first := zero
	for _, g := range groups {
		for _, s := range g.slices {
			first = min(first, s.from)
		}
	}
	return zero - (zero-first+1e9-1)/1e9*1e9
}

// groupsOf returns the slices in a run: for the load, then for each member.
func groupsOf(r *run.Run) []group {
	steps, stalls := group{load, "steps", nil}, group{load, "stalls", nil}
	for i, w := range r.Windows.Measured {
		name := fmt.Sprintf("step %d: %d clients", i, w.Clients)
		to := max(w.Issued.To, w.To)
		steps.slices = append(steps.slices, slice{name, w.Issued.From, to, nil})
		if (run.Span{From: w.Issued.From, To: to}) != w.Span {
			steps.slices = append(steps.slices, slice{"measured", w.From, w.To, nil})
		}
	}
	for i := range r.Stalls.List {
		stalls.slices = append(stalls.slices, stallOf(&r.Stalls, i))
	}
	var groups []*group
	add := func(process int, name string, s slice) {
		at := slices.IndexFunc(groups, func(g *group) bool { return g.process == process && g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{process: process, name: name})
		}
		groups[at].slices = append(groups[at].slices, s)
	}
	of := func(h run.Happening) int {
		if h.Member < 0 || h.Member >= len(r.Machines.Servers) {
			return load
		}
		return load + 1 + h.Member
	}
	for h := range r.Happenings() {
		add(of(h), trackOf(h), sliceOf(h))
	}
	for h := range r.Pauses() {
		add(of(h), h.Name, slice{h.Name, h.From, h.To, nil})
	}
	var measured []run.Span
	for _, w := range r.Windows.Measured {
		measured = append(measured, w.Span)
	}
	for h := range r.OtherLoad(measured) {
		add(load, h.Name, slice{h.Name, h.From, h.To, nil})
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(slices.Index(tracks(), a.name), slices.Index(tracks(), b.name)))
	})
	all := []group{steps, stalls}
	for _, g := range groups {
		all = append(all, *g)
	}
	return all
}

// tracks returns the event groups in the order of their tracks.
func tracks() []string {
	return []string{run.KindClient, run.KindOther, "done on purpose", "events", run.KindCollector, "log lines"}
}

// trackOf returns the track for an event.
func trackOf(h run.Happening) string {
	switch {
	case h.Log != "":
		return "log lines"
	case h.Asked:
		return "done on purpose"
	}
	return "events"
}

// sliceOf returns the slice for an event.
func sliceOf(h run.Happening) slice {
	s := slice{name: h.Name, from: h.From, to: h.To}
	note := func(name, value string) {
		if value != "" {
			s.args = append(s.args, arg{name, text(value)})
		}
	}
	note("text", h.Text)
	if h.Amount != 0 {
		s.args = append(s.args, arg{"amount", h.Amount})
		note("unit", h.Unit)
	}
	note("log", h.Log)
	if h.Line > 0 {
		s.args = append(s.args, arg{"line", h.Line})
	}
	return s
}

// stallOf returns the slice for a stall, with the events that coincided with it.
func stallOf(all *run.Stalls, n int) slice {
	of := &all.List[n]
	s := slice{name: "stall", from: of.From.UnixNano(), to: of.From.Add(of.Length).UnixNano()}
	s.args = args{{"stall", n + 1}, {"step", of.Step}, {"ok", of.OK}, {"expected", of.Expected}}
	s.args = append(s.args, arg{"coincided with", plaintext.Line(all.With(of))})
	return s
}

// laid lays slices onto tracks on which they are disjoint or inside one another, as the format
// demands. A slice without room becomes an instant at its end, on the first track.
func laid(all []slice) (lanes [][]slice) {
	order := func(a, b slice) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) }
	slices.SortStableFunc(all, order)
	var open [][]int64 // by lane, where the slices end that have not ended
	var unplaced []slice
	for _, s := range all {
		at := 0
		for ; at < len(lanes); at++ {
			ends := open[at]
			for len(ends) > 0 && ends[len(ends)-1] <= s.from {
				ends = ends[:len(ends)-1]
			}
			open[at] = ends
			if s.from == s.to || len(ends) == 0 || ends[len(ends)-1] >= s.to {
				break
			}
		}
		switch {
		case at == mostLanes:
			s.args = append(s.args, arg{"length_ms", float64(s.to-s.from) / 1e6})
			s.from = s.to
			unplaced = append(unplaced, s)
			continue
		case at == len(lanes):
			lanes, open = append(lanes, nil), append(open, nil)
		}
		lanes[at] = append(lanes[at], s)
		if s.from < s.to {
			open[at] = append(open[at], s.to)
		}
	}
	if len(unplaced) > 0 {
		lanes[0] = append(lanes[0], unplaced...)
		slices.SortStableFunc(lanes[0], order)
	}
	return lanes
}

// text returns an untrusted text as one line with bounded length.
func text(s string) string { return plaintext.Short(s, mostText) }

// record is one object in the format. Times are in microseconds.
type record struct {
	Name     string          `json:"name"`
	Phase    string          `json:"ph"`
	Time     json.RawMessage `json:"ts,omitempty"`
	Duration json.RawMessage `json:"dur,omitempty"`
	Process  int             `json:"pid"`
	Thread   int             `json:"tid"`
	Scope    string          `json:"s,omitempty"`
	Args     args            `json:"args,omitempty"`
}

// writer writes the records in a trace. It keeps its first error.
type writer struct {
	w     *bufio.Writer
	zero  int64
	some  bool
	wrong error
}

func (t *writer) begin(r *run.Run) {
	head, err := json.Marshal(args{
		{"zero", time.Unix(0, t.zero).UTC().Format(time.RFC3339Nano)},
		{"load began", time.Unix(0, r.Origin()).UTC().Format(time.RFC3339Nano)},
		{"tag", text(r.Info.Tag)},
	})
	t.wrong = err
	_, _ = fmt.Fprintf(t.w, `{"displayTimeUnit":"ms","otherData":%s,"traceEvents":[`, head)
}

func (t *writer) add(one record) {
	data, err := json.Marshal(one)
	if err != nil {
		t.wrong = errors.Join(t.wrong, err)
		return
	}
	if t.some {
		_ = t.w.WriteByte(',')
	}
	t.some = true
	_ = t.w.WriteByte('\n')
	_, _ = t.w.Write(data)
}

func (t *writer) end() error {
	_, _ = t.w.WriteString("\n]}\n")
	if err := errors.Join(t.wrong, t.w.Flush()); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func (t *writer) name(process, thread int, what, name string) {
	t.add(record{Name: what, Phase: "M", Process: process, Thread: thread, Args: args{{"name", name}}})
}

func (t *writer) slice(process, thread int, s slice) {
	one := record{Name: text(s.name), Phase: "X", Time: micros(s.from - t.zero), Process: process, Thread: thread, Args: s.args}
	if s.from == s.to {
		one.Phase, one.Scope = "i", "t"
	} else {
		one.Duration = micros(s.to - s.from)
	}
	t.add(one)
}

// counter writes the values that a counter has from a time on. Each has its own line in a track.
func (t *writer) counter(process int, name string, at int64, values args) {
	t.add(record{Name: name, Phase: "C", Time: micros(at - t.zero), Process: process, Args: values})
}

// micros formats nanoseconds, which must not be negative, as microseconds.
func micros(ns int64) json.RawMessage {
	b := strconv.AppendInt(nil, ns/1000, 10)
	if rest := ns % 1000; rest > 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%03d", rest), "0")...)
	}
	return b
}

// counters writes the seconds of the load. A counter is 0 in a second without a value, because the
// format has no gaps, and after the last second. A percentile that no second has is left out.
func (t *writer) counters(r *run.Run) {
	seconds := r.Load.PerSecond()
	if len(seconds) == 0 {
		return
	}
	first, n := seconds[0].Unix, int(seconds[len(seconds)-1].Unix-seconds[0].Unix)+2
	at := func(i int) int64 { return (first + int64(i)) * 1e9 }
	quantiles := r.SecondQuantiles(tails...)
	of := knownTails(quantiles)
	gauges := map[int64]results.Gauge{}
	for _, g := range r.Load.Gauges {
		gauges[g.Second] = g
	}
	rated := slices.ContainsFunc(r.Windows.Measured, func(w run.Window) bool { return w.Rated })
	for i := range n {
		var s run.Second
		if len(seconds) > 0 && seconds[0].Unix == first+int64(i) {
			s, seconds = seconds[0], seconds[1:]
		}
		t.counter(load, "requests ended", at(i), args{{"ok", s.OK}, {"failed", s.Failed}, {"unknown", s.Unknown}})
		if rated {
			t.counter(load, "requests due", at(i), args{{"due", s.Due}})
		}
		t.counter(load, "latency of ok requests (ms)", at(i), append(percentiles(of, quantiles[first+int64(i)]), arg{"max", s.Latency.Max}))
		g := gauges[first+int64(i)]
		t.counter(load, "requests waiting", at(i), args{{"in flight", g.InFlight}, {"backlog", g.Backlog}})
	}
	busy, resident := run.Of(metric.CPUPercent), run.Of(metric.RSSBytes)
	r.Machines.EachRow(first, n, func(i int, row run.Row) {
		for member, reading := range row {
			var cpu, memory float64
			if reading != nil && i < n-1 {
				cpu, memory = orZero(reading.Value(busy).Float())/100, orZero(reading.Value(resident).Float())/1e6
			}
			t.counter(load+1+member, "processors used", at(i), args{{"processors", cpu}})
			t.counter(load+1+member, "memory (MB)", at(i), args{{"resident", memory}})
		}
	})
}

// tails are the latency quantiles for a second.
var tails = []float64{.5, .9, .99}

// knownTails returns the indexes of the tails that any second has. The others, for which seconds
// have too few requests, are left out.
func knownTails(seconds map[int64][]float64) (known []int) {
	for i := range tails {
		for _, of := range seconds {
			if !math.IsNaN(of[i]) {
				known = append(known, i)
				break
			}
		}
	}
	return known
}

// percentiles returns the known tails in a second, nil without any.
func percentiles(known []int, of []float64) (list args) {
	for _, i := range known {
		v := 0.0
		if of != nil {
			v = orZero(of[i])
		}
		list = append(list, arg{fmt.Sprintf("p%g", 100*tails[i]), v})
	}
	return list
}

// orZero returns a value, 0 if it is unknown.
func orZero(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
