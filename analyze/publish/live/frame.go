package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/publish/page"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/metric"
)

// frame is a page's content for one second. The script on the page reads it.
type frame struct {
	// Number counts frames from 1.
	Number int    `json:"number"`
	Step   string `json:"step"`
	// Line describes load progress.
	Line   string  `json:"line"`
	Tables []table `json:"tables"`
	Said   []note  `json:"said"` // the newest first
	// The field "figures" follows, see [page.LiveData].
}

// table has the cells for the element with an id.
type table struct {
	ID   string     `json:"id"`
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// note is a text with a time of day.
type note struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

// frame appends the content for the page.
func (s *state) frame(b []byte, number int) ([]byte, error) {
	f := frame{Number: number, Step: visible(s.place(s.now) + s.step), Line: s.line(), Tables: []table{s.loadsTable(), s.machinesTable(), s.reportedTable()}, Said: []note{}}
	for _, n := range slices.Backward(s.said) {
		f.Said = append(f.Said, note{n.at.UTC().Format("15:04:05 UTC"), visible(s.place(n.of) + n.text)})
	}
	head, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode a second of the run: %w", err)
	}
	// The points are encoded already, so the figures are joined as texts.
	b = append(append(b, head[:len(head)-1]...), `,"figures":[`...)
	for i, p := range s.plots() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = page.LiveData(b, p.Figure, p.lines); err != nil {
			return nil, err
		}
	}
	return append(b, "]}"...), nil
}

// visible makes an untrusted text safe to show, on one line.
func visible(text string) string { return strings.ReplaceAll(plaintext.Visible(text), "\n", " ") }

// place names a trial and a database before a text.
func (s *state) place(of Of) string {
	var b strings.Builder
	if of.Trials > 1 {
		fmt.Fprintf(&b, "trial %d of %d, ", of.Trial, of.Trials)
	}
	if of.Tag != "" {
		fmt.Fprintf(&b, "%s: ", of.Tag)
	}
	return b.String()
}

// line returns the progress of the current load, "" before it begins.
func (s *state) line() string {
	l := s.current()
	if l == nil || l.start.IsZero() {
		return ""
	}
	text := humanize.Comma(l.last.Done)
	if l.ahead.Requests > 0 {
		text += " of " + humanize.Comma(l.ahead.Requests)
	}
	text += " requests, "
	if n := len(l.ahead.Steps); n > 1 {
		text += fmt.Sprintf("step %d of %d: ", l.last.Step.Index+1, n)
	}
	text += stepText(l.last.Step.Step)
	if left, known := l.left(s.at); known {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text + l.next()
}

// mostNext bounds the steps ahead that a page names.
const mostNext = 3

// next returns the steps that are ahead, "" without any.
func (l *oneLoad) next() string {
	steps := l.ahead.Steps[min(l.last.Step.Index+1, len(l.ahead.Steps)):]
	if len(steps) == 0 {
		return ""
	}
	var texts []string
	for _, one := range steps[:min(len(steps), mostNext)] {
		texts = append(texts, stepText(one))
	}
	if more := len(steps) - mostNext; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return "; then " + strings.Join(texts, "; ")
}

// loadsTable has the last second in each load, and its counts.
func (s *state) loadsTable() table {
	t := table{ID: "loads", Head: []string{"database", "offered/s", "ended/s", "p50", "p99", "in flight", "requests", "errors", "declined"}, Rows: [][]string{}}
	for i := range s.loads {
		l := &s.loads[i]
		if l.lines.ended.Empty() {
			continue
		}
		last := l.second
		t.Rows = append(t.Rows, []string{
			l.of.Tag, whole(last.offered), whole(last.ended), latencyText(last.p50), latencyText(last.p99),
			humanize.Comma(l.last.InFlight), humanize.Comma(l.last.Done), humanize.Comma(l.last.Errors), humanize.Comma(l.last.Declined),
		})
	}
	return t
}

// machinesTable has the last sample from each machine of the current database.
func (s *state) machinesTable() table {
	t := table{ID: "machines", Head: []string{"machine", "processors", "memory", "written", "disk free"}, Rows: [][]string{}}
	l := s.current()
	if l == nil {
		return t
	}
	for _, name := range l.names() {
		m := l.machines[name]
		last := m.point
		written := bytesText(last.written)
		if last.written != metric.Unknown {
			written += "/s"
		}
		percent := missing
		if last.percent != metric.Unknown {
			percent = whole(last.percent) + " %"
		}
		if name == l.leaderName() {
			name += ", leader"
		}
		t.Rows = append(t.Rows, []string{name, percent, bytesText(last.resident), written, bytesText(m.sample.Get(metric.DiskFree))})
	}
	return t
}

// missing replaces an unknown number.
const missing = "–"

func whole(v float64) string { return humanize.Comma(int64(v + .5)) }

func latencyText(milliseconds float64) string {
	if milliseconds == 0 {
		return missing
	}
	return humanize.FtoaWithDigits(milliseconds, 2) + " ms"
}

func bytesText(v float64) string {
	if v < 0 {
		return missing
	}
	return humanize.Bytes(uint64(v))
}

// reportedTable has the newest answers by members of the current database, which control asks if it
// has no agents there. They are seconds old.
func (s *state) reportedTable() table {
	t := table{ID: "reported", Head: []string{"by its own account", "store", "connections", "not answered yet", "syncs", "mean sync"}, Rows: [][]string{}}
	l := s.current()
	if l == nil {
		return t
	}
	count := func(v float64) string {
		if v < 0 {
			return missing
		}
		return humanize.Comma(int64(v))
	}
	for _, name := range l.reporters() {
		a := l.reported[name]
		syncs, took := missing, missing
		if v := a.perSecond(metric.Fsyncs); v >= 0 {
			syncs = whole(v) + "/s"
		}
		if v := a.mean(metric.FsyncSeconds, metric.Fsyncs); v > 0 {
			took = latencyText(v * 1e3)
		}
		get := a.last.Values.Get
		if name == l.leaderName() || get(metric.IsLeader) == 1 {
			name += ", leader"
		}
		t.Rows = append(t.Rows, []string{name, bytesText(get(metric.DBBytes)), count(get(metric.Connections)), count(get(metric.Outstanding)), syncs, took})
	}
	return t
}
