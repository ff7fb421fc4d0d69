// Package lognotes adds notable lines from member logs to the run events.
package lognotes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/clocks"
	"github.com/coreos/dbtester/pkg/results/logrule"
)

// maxLogEvents bounds the written events for each member and kind. The report counts all events in
// the logs.
const maxLogEvents = 1000

// Write finds events by the rules in record in the collected logs from members, by index. It writes
// them ordered by the client clock, and records which logs are incomplete. dir is the database
// folder.
func Write(dir string, record *results.DatabaseRun, members []int, to *results.EventWriter) error {
	rules, err := logrule.Compile(record.LogRules, record.LogTimes)
	if err != nil {
		return fmt.Errorf("find events in logs: %w", err)
	}
	// Clock rows before an error count.
	tracks, _ := results.Tracks(dir, record)
	var all []results.Event
	var errs []error
	for _, i := range members {
		n := logNotes{member: &record.Members[i], rules: rules, track: tracks[i], began: record.Started, seen: map[string]int{}}
		for _, name := range n.member.Files {
			if !strings.HasPrefix(name, results.DirLogs+"/") {
				continue
			}
			if err := n.read(dir, name); err != nil {
				errs = append(errs, fmt.Errorf("find events in %s: %w", name, err))
			}
		}
		all = append(all, n.events...)
	}
	slices.SortStableFunc(all, func(a, b results.Event) int { return a.Time.Compare(b.Time) })
	for _, e := range all {
		if err := to.Write(e); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}

// logNotes are the events from the logs of one member.
type logNotes struct {
	member *results.Member
	rules  *logrule.Matcher
	track  clocks.Track
	began  time.Time // for events before the first time in the log
	seen   map[string]int
	events []results.Event
}

// read adds the events from one log.
func (n *logNotes) read(dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	return n.rules.Scan(f, n.began.Year(), func(l *logrule.Line) error {
		if l.Event == "" {
			n.cut(name, l)
			return nil
		}
		n.seen[l.Event]++
		switch seen := n.seen[l.Event]; {
		case seen < maxLogEvents:
			n.add(results.Event{Kind: l.Event, Took: l.Duration, Amount: l.Amount, Unit: l.Unit, Text: l.Text()}, name, l)
		case seen == maxLogEvents:
			n.add(results.Event{Kind: l.Event, Took: l.Duration, Amount: l.Amount, Unit: l.Unit,
				Text: fmt.Sprintf("later events of this kind are only in the member's logs; %s", l.Text())}, name, l)
		}
		return nil
	})
}

// cut records which part of a log is missing.
func (n *logNotes) cut(name string, l *logrule.Line) {
	n.member.LogCuts = append(n.member.LogCuts, results.LogCut{File: name, Bytes: l.Cut.Bytes})
	n.add(results.Event{Kind: results.EventLogCut, Amount: float64(l.Cut.Bytes), Unit: "bytes",
		Text: fmt.Sprintf("%d bytes of this log were cut on the member's machine", l.Cut.Bytes)}, name, l)
}

// add adds an event with its place and time.
func (n *logNotes) add(e results.Event, name string, l *logrule.Line) {
	e.Member, e.Log, e.Line, e.Time = n.member.Index, name, l.Number, n.began.UTC()
	if !l.Time.IsZero() {
		e.Time = time.Unix(0, n.track.Client(l.Time.UnixNano())).UTC()
	}
	n.events = append(n.events, e)
}
