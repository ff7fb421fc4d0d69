package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// pageOf returns the path to the report page, or to the report folder without a page.
func pageOf(report *analyze.Report) string {
	for _, file := range report.Files {
		if filepath.Base(file) == "report.html" {
			return file
		}
	}
	return report.Dir
}

// verdictLines returns the run folders and one line for each database and trial. If there are more
// than n lines, invalid verdicts come first.
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

// linesOf counts the lines in the text of err.
func linesOf(err error) int {
	if err == nil {
		return 0
	}
	return strings.Count(strings.TrimRight(message(err), "\n"), "\n") + 1
}
