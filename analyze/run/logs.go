package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/regularfile"
	"github.com/coreos/dbtester/pkg/results"
)

// Logs counts the lines of the members' logs that the driver's rules match.
type Logs struct {
	Total Measure
	// Events are in the order of the rules, those without a line included.
	Events []LogEvent
}

// LogEvent counts the lines that the rules of one event matched.
type LogEvent struct {
	Event string
	Count int64
}

// logRule is a rule of the driver, compiled.
type logRule struct {
	expression *regexp.Regexp
	event      int // index in Events
}

// readLogs reads every log below dir.
func readLogs(dir string, record *results.DatabaseRun, gaps *Gaps) (l Logs) {
	if len(record.LogRules) == 0 {
		return Logs{Total: Inapplicable("there are no rules for its logs")}
	}
	var rules []logRule
	for _, rule := range record.LogRules {
		expression, err := regexp.Compile(rule.Pattern)
		if err != nil {
			gaps.Add("log rule %q is not a regular expression", rule.Event)
			continue
		}
		at := slices.IndexFunc(l.Events, func(e LogEvent) bool { return e.Event == rule.Event })
		if at < 0 {
			at = len(l.Events)
			l.Events = append(l.Events, LogEvent{Event: rule.Event})
		}
		rules = append(rules, logRule{expression, at})
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
	for _, path := range files {
		if err := l.count(path, rules); err != nil {
			gaps.Add("%s", problem(path, err))
		}
	}
	for _, e := range l.Events {
		l.Total.Value += float64(e.Count)
	}
	return l
}

// missingLogs adds a gap for each member that has none of the files.
func missingLogs(dir string, files []string, record *results.DatabaseRun, gaps *Gaps) {
	for i, m := range record.Members {
		prefix := filepath.Join(dir, fmt.Sprintf("%d-", i+1))
		if m.Agent != "" && !slices.ContainsFunc(files, func(path string) bool { return strings.HasPrefix(path, prefix) }) {
			gaps.Add("no log of member %d was collected", i+1)
		}
	}
}

// logFiles returns the files below dir, in order.
func logFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

func (l *Logs) count(path string, rules []logRule) error {
	f, err := regularfile.Open(path)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		// A line longer than the buffer is matched in pieces: no event needs so much.
		line, _, err := lines.ReadLine()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read log: %w", err)
		}
		for _, rule := range rules {
			if rule.expression.Match(line) {
				l.Events[rule.event].Count++
			}
		}
	}
}
