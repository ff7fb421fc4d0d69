package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// A command that ran or analyzed something ends with at most closingLines lines, which fit on
// a terminal. screenLines of them are the first screen.
const (
	closingLines = 30
	screenLines  = 24
)

// screenText returns the first screen at the end of a command.
func screenText(h *headline.Headline) string {
	return strings.Join(fit(strings.Split(strings.TrimRight(h.Screen(), "\n"), "\n"), screenLines), "\n") + "\n"
}

// fit returns at most n lines: if there are more, the last line counts the omitted ones.
func fit(lines []string, n int) []string {
	n = max(n, 1)
	if len(lines) <= n {
		return lines
	}
	left := len(lines) - n + 1
	return append(slices.Clone(lines[:n-1]), fmt.Sprintf("... and %s; dbtester analyze --all prints all", english.Plural(left, "more line", "")))
}

// pageOf returns the path of a report's page, or of its folder if there is no page.
func pageOf(report *analyze.Report) string {
	for _, file := range report.Files {
		if filepath.Base(file) == "report.html" {
			return file
		}
	}
	return report.Dir
}

// verdictLines returns the folders of a run and a line for each database of each trial. If there
// are more than n lines, invalid verdicts come first.
func (s streams) verdictLines(out *control.Outcome, n int) []string {
	lines := s.folderLines(out)
	verdicts := slices.Clone(out.Verdicts)
	if len(lines)+len(verdicts) > n {
		slices.SortStableFunc(verdicts, func(a, b control.Verdict) int { return order(a.Valid(), b.Valid()) })
		lines = fit(lines, max(1, n-len(verdicts)))
	}
	for _, v := range verdicts {
		line := v.String()
		if v.Trials > 1 {
			line = fmt.Sprintf("trial %d of %d: %s", v.Trial, v.Trials, line)
		}
		lines = append(lines, line)
	}
	return fit(lines, n)
}

// order sorts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// folderLines name the result folders.
func (s streams) folderLines(out *control.Outcome) (lines []string) {
	what := "results"
	if out.Useless() {
		what = "no load was run; logs and events are"
	}
	for _, dir := range out.Folders {
		lines = append(lines, fmt.Sprintf("%s in %s", what, s.path(dir)))
	}
	return lines
}

// runsWords names runs for a command line: by their folder if it contains no other runs, or
// one by one.
func runsWords(folders []string) string {
	if parent := filepath.Dir(folders[0]); len(folders) > 1 && slices.Equal(analyze.RunsBelow(parent), slices.Sorted(slices.Values(folders))) {
		return plaintext.Word(relative(parent))
	}
	var words []string
	for _, dir := range folders {
		words = append(words, plaintext.Word(relative(dir)))
	}
	return strings.Join(words, " ")
}

// linesOf counts the lines that an error prints.
func linesOf(err error) int {
	if err == nil {
		return 0
	}
	return strings.Count(strings.TrimRight(message(err), "\n"), "\n") + 1
}

// notFoundError reports that searches did not find what they were for (exit code 3).
type notFoundError struct {
	what     string
	searches []string
}

func (e *notFoundError) Error() string {
	if len(e.searches) == 1 {
		return "no " + e.what + " was found: " + e.searches[0]
	}
	return "no " + e.what + " was found:\n  " + strings.Join(e.searches, "\n  ")
}

// withNotFound adds the searches that found nothing to the error of a run, unless the run failed
// and has another exit code.
func withNotFound(err error, out *control.Outcome) error {
	var searches []string
	what := ""
	for _, v := range out.Verdicts {
		if v.Unfound.Why == "" {
			continue
		}
		of := v.Tag
		if v.Trials > 1 {
			of = fmt.Sprintf("%s, trial %d of %d", v.Tag, v.Trial, v.Trials)
		}
		what, searches = v.Unfound.What, append(searches, of+": "+v.Unfound.Why)
	}
	if invalid := (*invalidError)(nil); len(searches) == 0 || err != nil && !errors.As(err, &invalid) {
		return err
	}
	return errors.Join(err, &notFoundError{what, searches})
}
