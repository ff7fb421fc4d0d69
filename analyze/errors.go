package analyze

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

type columnErrors struct {
	Tag    string      `json:"tag"`
	Errors []errorLine `json:"errors"`
}

type errorLine struct {
	Class string `json:"class"`
	First string `json:"first,omitempty"`
	Count int64  `json:"count"`
}

// mostErrors bounds the list below the table: classic runs have an entry for every
// message, and a message may hold a key.
const mostErrors = 20

// errorsOf returns the errors of the runs that have any.
func errorsOf(runs []*run.Run) (out []columnErrors) {
	for _, r := range runs {
		one := columnErrors{Tag: r.Info.Tag}
		rest := int64(0)
		for i, e := range r.Load.Errors {
			if i >= mostErrors {
				rest += e.Count
				continue
			}
			one.Errors = append(one.Errors, errorLine{e.Class, e.Text, e.Count})
		}
		if rest > 0 {
			one.Errors = append(one.Errors, errorLine{fmt.Sprintf("%d other messages", len(r.Load.Errors)-mostErrors), "", rest})
		}
		if len(one.Errors) > 0 {
			out = append(out, one)
		}
	}
	return out
}

func (e errorLine) line() string {
	s := fmt.Sprintf("%q (count %d)", e.Class, e.Count)
	if e.First != "" && e.First != e.Class {
		s += ", first: " + e.First
	}
	return s
}
