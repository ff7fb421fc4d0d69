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

// frame is the content of a page for one second. The page's script reads it.
type frame struct {
	// Number counts the frames of a run from 1.
	Number int    `json:"number"`
	Step   string `json:"step"`
	// Line is the progress of the load.
	Line    string            `json:"line"`
	Figures []json.RawMessage `json:"figures"`
	Tables  []table           `json:"tables"`
	Said    []note            `json:"said"` // the newest first
}

// table is a table of texts, by the id of its element.
type table struct {
	ID   string     `json:"id"`
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

// note is a text with the time of day.
type note struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

// frame returns the content of a run's page.
func (s *state) frame(number int) ([]byte, error) {
	f := frame{Number: number, Step: visible(s.place(s.now) + s.step), Line: s.line(), Tables: []table{s.loadsTable(), s.machinesTable()}, Said: []note{}}
	for _, one := range s.figures() {
		data, err := page.LiveData(one)
		if err != nil {
			return nil, err
		}
		f.Figures = append(f.Figures, data)
	}
	for _, n := range slices.Backward(s.said) {
		f.Said = append(f.Said, note{n.at.UTC().Format("15:04:05 UTC"), visible(s.place(n.of) + n.text)})
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode a second of the run: %w", err)
	}
	return b, nil
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

// line returns the progress of the current database's load, "" before it begins.
func (s *state) line() string {
	l := s.current()
	if l == nil || l.start.IsZero() {
		return ""
	}
	text := humanize.Comma(l.last.Done)
	if l.total > 0 {
		text += " of " + humanize.Comma(l.total)
	}
	text += " requests, " + stepText(l.last.Step)
	if left, known := l.left(s.at); known {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

// loadsTable has the last second of each database's load, and its counts.
func (s *state) loadsTable() table {
	t := table{ID: "loads", Head: []string{"database", "offered/s", "ended/s", "p50", "p99", "in flight", "requests", "errors", "declined"}, Rows: [][]string{}}
	for i := range s.loads {
		l := &s.loads[i]
		if len(l.seconds) == 0 {
			continue
		}
		last := l.seconds[len(l.seconds)-1]
		t.Rows = append(t.Rows, []string{
			l.of.Tag, whole(last.offered), whole(last.ended), latencyText(last.p50), latencyText(last.p99),
			humanize.Comma(l.last.InFlight), humanize.Comma(l.last.Done), humanize.Comma(l.last.Errors), humanize.Comma(l.last.Declined),
		})
	}
	return t
}

// machinesTable has the last sample of each machine of the current database.
func (s *state) machinesTable() table {
	t := table{ID: "machines", Head: []string{"machine", "processors", "memory", "written", "disk free"}, Rows: [][]string{}}
	l := s.current()
	if l == nil {
		return t
	}
	for _, name := range l.names() {
		m := l.machines[name]
		last := m.points[len(m.points)-1]
		written := bytesText(last.written)
		if last.written != metric.Unknown {
			written += "/s"
		}
		percent := missing
		if last.percent != metric.Unknown {
			percent = whole(last.percent) + " %"
		}
		t.Rows = append(t.Rows, []string{name, percent, bytesText(last.resident), written, bytesText(m.last.Get(metric.DiskFree))})
	}
	return t
}

// missing stands for an unknown number.
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
