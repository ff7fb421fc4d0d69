package compare

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/mark"
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

	worst results.Mark
}

// String is the mark in one line.
func (m Marked) String() string {
	return fmt.Sprintf("%s: %d of %d runs (%s), the worst %s: %s", m.Code, len(m.Runs), m.All, strings.Join(m.Runs, ", "), m.Worst, m.Text)
}

// worse reports whether the second of two marks of a code is worse than the first: by their
// values, or of older records, which have none, by the first percentage of their texts.
func worse(a, b results.Mark) bool {
	form := mark.Form(b.Code, b.Values, b.Words)
	if mark.Ranked(b.Code, form) && form == mark.Form(a.Code, a.Values, a.Words) {
		return mark.Worse(b.Code, form, a.Values, b.Values)
	}
	return shareIn(b.Text) > shareIn(a.Text)
}

// share finds the first percentage of a mark's text.
var share = regexp.MustCompile(`([0-9.]+) ?%`)

func shareIn(text string) float64 {
	if m := share.FindStringSubmatch(text); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			return v
		}
	}
	return 0
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
	at := map[string]int{}
	for _, r := range runs {
		tag := r.Run.Info.Tag
		for _, m := range marksOf(r.Run) {
			if m.Invalid {
				continue
			}
			i, known := at[m.Code]
			if !known {
				i, at[m.Code] = len(list), len(list)
				list = append(list, Marked{Code: m.Code, All: len(runs), Worst: tag, Text: m.Text, worst: m})
			}
			one := &list[i]
			if n := len(one.Runs); n == 0 || one.Runs[n-1] != tag {
				one.Runs = append(one.Runs, tag)
			}
			if worse(one.worst, m) {
				one.Worst, one.Text, one.worst = tag, m.Text, m
			}
		}
	}
	return list
}
