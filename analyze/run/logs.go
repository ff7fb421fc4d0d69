package run

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
	"github.com/coreos/dbtester/pkg/results/logrule"
)

// Logs counts the lines in member logs that match the rules of the driver.
type Logs struct {
	Total Measure
	// Events are in rule order, including events without a matching line.
	Events []LogEvent
}

// LogEvent counts the lines that the rules for one event matched.
type LogEvent struct {
	Event string
	Count int64
	// Timed counts lines that include a duration. Total and Longest summarize these durations.
	Timed          int64
	Total, Longest time.Duration
}

// readLogs reads every log below dir.
func readLogs(dir string, record *results.DatabaseRun, gaps *Gaps) (l Logs) {
	if len(record.LogRules) == 0 {
		return Logs{Total: Inapplicable("there are no rules for its logs")}
	}
	var rules []declared.LogRule
	for _, rule := range record.LogRules {
		if _, err := logrule.Compile([]declared.LogRule{rule}, nil); err != nil {
			gaps.Add("log rule %q is not a regular expression", rule.Event)
			continue
		}
		rules = append(rules, rule)
		if !slices.ContainsFunc(l.Events, func(e LogEvent) bool { return e.Event == rule.Event }) {
			l.Events = append(l.Events, LogEvent{Event: rule.Event})
		}
	}
	uncollected := Logs{Total: Missing("no log was collected")}
	if len(rules) == 0 {
		return uncollected
	}
	files, err := logFiles(dir)
	if err != nil || len(files) == 0 {
		gaps.Add("no log was collected")
		return uncollected
	}
	missingLogs(dir, files, record, gaps)
	matcher, _ := logrule.Compile(rules, nil) // each rule compiled alone
	for _, path := range files {
		if err := l.count(path, matcher, gaps); err != nil {
			gaps.Add("%s", problem(path, err))
		}
	}
	for _, e := range l.Events {
		l.Total.Value += float64(e.Count)
	}
	return l
}

// missingLogs adds a gap for each member without any log file.
func missingLogs(dir string, files []string, record *results.DatabaseRun, gaps *Gaps) {
	for i, m := range record.Members {
		prefix := filepath.Join(dir, fmt.Sprintf("%d-", i+1))
		if m.Agent != "" && !slices.ContainsFunc(files, func(path string) bool { return strings.HasPrefix(path, prefix) }) {
			gaps.Add("no log of member %d was collected", i+1)
		}
	}
}

// logFiles returns the files below dir in order.
func logFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// count counts the events in one log. A log that was cut is a gap.
func (l *Logs) count(path string, rules *logrule.Matcher, gaps *Gaps) error {
	f, err := regularfile.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	err = rules.Scan(f, 0, func(line *logrule.Line) error {
		if line.Event == "" {
			gaps.Add("%d bytes of the log %s were cut: events in them are not counted", line.Cut.Bytes, filepath.Base(path))
			return nil
		}
		e := &l.Events[slices.IndexFunc(l.Events, func(e LogEvent) bool { return e.Event == line.Event })]
		e.Count++
		if line.Duration > 0 {
			e.Timed++
			e.Total += line.Duration
			e.Longest = max(e.Longest, line.Duration)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	return nil
}
