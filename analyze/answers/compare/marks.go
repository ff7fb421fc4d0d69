package compare

import (
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

// marksOf returns the marks on a run and on its folder.
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

// marked merges the marks that do not make runs invalid by code, keeping their order.
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
