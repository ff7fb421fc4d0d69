package compare

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// Marked is a mark that weakens the numbers of some runs, merged over them.
type Marked struct {
	Code string `json:"code"`
	// Runs are those with the mark, such as "A1", of All.
	Runs []string `json:"runs"`
	All  int      `json:"all"`
	// Worst is the run whose mark is the worst, which Text is of.
	Worst string `json:"worst"`
	Text  string `json:"text"`
}

// String is the mark in one line.
func (m Marked) String() string {
	return fmt.Sprintf("%s: %d of %d runs (%s), the worst %s: %s", m.Code, len(m.Runs), m.All, strings.Join(m.Runs, ", "), m.Worst, m.Text)
}

// marksOf returns the marks of a run and of its folder.
func marksOf(r *run.Run) (marks []results.Mark) {
	for _, m := range r.Marks() {
		marks = append(marks, m.Mark)
	}
	if r.Info.Manifest != nil {
		for _, m := range r.Info.Manifest.Validity {
			marks = append(marks, m.Told())
		}
	}
	return marks
}

// marked merges the marks of runs that do not make them invalid, by code in their order.
func marked(runs []Recorded) (list []Marked) {
	var marks []run.Mark
	for _, r := range runs {
		for _, m := range marksOf(r.Run) {
			if !m.Invalid {
				marks = append(marks, run.Mark{Tag: r.Run.Info.Tag, Mark: m})
			}
		}
	}
	for _, j := range run.JoinMarks(marks, func(m run.Mark) string { return m.Code }) {
		var tags []string
		for _, m := range j.Marks {
			tags = append(tags, m.Tag)
		}
		list = append(list, Marked{Code: j.By, Runs: run.Distinct(tags), All: len(runs), Worst: j.Worst.Tag, Text: j.Worst.Mark.Text})
	}
	return list
}
