package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/results"
)

// logEvents holds the events that the member logs of one run report during the load.
type logEvents struct {
	Of    string
	Lines []logEvent
}

// logEvent is one kind of event over all members.
type logEvent struct {
	At      string // of the first and the last line, in seconds into the load
	Event   string
	Members string // from 1
	Times   int64
	Longest string // "" if no line gives a duration
	Line    string // of the longest one, else the first
}

// mostLine bounds a log line in characters; mostKinds bounds the kinds in a run.
const (
	mostLine  = 200
	mostKinds = 20
)

// folders matches the folders of a path in a line: a report may be published, and must not name
// folders on the machine.
var folders = pattern.New(`(^|[\s"'=(])/(?:[^\s"',()/]+/)+`)

// logEventsOf returns the log events for each run that has any.
func logEventsOf(runs []*run.Run) (out []logEvents) {
	for _, r := range runs {
		if lines := logEventLines(r); len(lines) > 0 {
			out = append(out, logEvents{r.Info.Name(), lines})
		}
	}
	return out
}

func logEventLines(r *run.Run) (lines []logEvent) {
	kinds := map[string][]results.Event{}
	var order []string
	for _, e := range r.Machines.Events {
		if e.Log == "" {
			continue
		}
		if kinds[e.Kind] == nil {
			order = append(order, e.Kind)
		}
		kinds[e.Kind] = append(kinds[e.Kind], e)
	}
	for _, kind := range order[:min(len(order), mostKinds)] {
		lines = append(lines, logEventOf(kinds[kind], r.Origin()))
	}
	return lines
}

// logEventOf summarizes events of one kind, sorted by time. The load began at from, in unix
// nanoseconds.
func logEventOf(events []results.Event, from int64) logEvent {
	seconds := func(e results.Event) string {
		return strconv.FormatFloat(float64(e.Time.UnixNano()-from)/1e9, 'f', 1, 64)
	}
	first, last := seconds(events[0]), seconds(events[len(events)-1])
	one := logEvent{At: first, Event: plaintext.Line(events[0].Kind), Times: int64(len(events))}
	if first != last {
		one.At += " .. " + last
	}
	longest := events[0]
	var members []int
	for _, e := range events {
		if e.Took > longest.Took {
			longest = e
		}
		if !slices.Contains(members, e.Member) {
			members = append(members, e.Member)
		}
	}
	slices.Sort(members)
	var names []string
	for _, m := range members {
		names = append(names, strconv.Itoa(m+1))
	}
	one.Members = strings.Join(names, ", ")
	if longest.Took > 0 {
		one.Longest = longest.Took.Round(time.Millisecond / 10).String()
	}
	text, _, _ := strings.Cut(longest.Text, "\n")
	one.Line = plaintext.Short(folders().ReplaceAllString(text, "$1.../"), mostLine)
	return one
}

// String returns the line for a terminal.
func (l logEvent) String() string {
	text := fmt.Sprintf("%s s: %s, member %s", l.At, l.Event, l.Members)
	if l.Times > 1 {
		text += ", " + humanize.Comma(l.Times) + " times"
	}
	if l.Longest != "" {
		text += ", longest " + l.Longest
	}
	return text + ": " + l.Line
}
