package analyze

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/run/trials"
)

type columnErrors struct {
	Tag    string      `json:"tag"`
	Errors []errorLine `json:"errors"`
}

type errorLine struct {
	Class string `json:"class"`
	First string `json:"first,omitempty"`
	Count int64  `json:"count"`
	// Messages has the distinct messages, if there are several.
	Messages []messageLine `json:"messages,omitempty"`
}

type messageLine struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

// mostErrors bounds the list below the table: classic runs have an entry for every
// message, and a message may hold a key.
const mostErrors = 20

// mostMessages bounds the messages in a class; errors.csv has more.
const mostMessages = 10

// errorsOf returns the errors for runs that have any.
func errorsOf(runs []*run.Run) (out []columnErrors) {
	for _, r := range runs {
		if lines := linesOf(r.Load.Errors); len(lines) > 0 {
			out = append(out, columnErrors{r.Info.Tag, lines})
		}
	}
	return out
}

// failuresOf returns the errors for databases that have any, over all trials together.
func failuresOf(groups []trials.Group) (out []columnErrors) {
	for _, g := range groups {
		if lines := linesOf(mergedErrors(g.Runs)); len(lines) > 0 {
			out = append(out, columnErrors{g.Title(), lines})
		}
	}
	return out
}

// mergedErrors sums the errors in several runs by class and by message, the most frequent first.
func mergedErrors(runs []*run.Run) (all []run.ErrorCount) {
	for _, r := range runs {
		for _, e := range r.Load.Errors {
			at := slices.IndexFunc(all, func(have run.ErrorCount) bool { return have.Class == e.Class })
			if at < 0 {
				e.Messages = slices.Clone(e.Messages)
				all = append(all, e)
				continue
			}
			all[at].Count += e.Count
			for _, m := range e.Messages {
				all[at].AddMessage(m.Text, m.Count)
			}
		}
	}
	run.SortErrors(all)
	return all
}

func linesOf(errors []run.ErrorCount) (lines []errorLine) {
	rest := int64(0)
	for i, e := range errors {
		if i >= mostErrors {
			rest += e.Count
			continue
		}
		lines = append(lines, errorLine{e.Class, e.Text, e.Count, messagesOf(e)})
	}
	if rest > 0 {
		lines = append(lines, errorLine{fmt.Sprintf("%d other messages", len(errors)-mostErrors), "", rest, nil})
	}
	return lines
}

// messagesOf returns the messages in a class that has several.
func messagesOf(e run.ErrorCount) (lines []messageLine) {
	if len(e.Messages) < 2 {
		return nil
	}
	rest := int64(0)
	for i, m := range e.Messages {
		if i >= mostMessages {
			rest += m.Count
			continue
		}
		lines = append(lines, messageLine{m.Text, m.Count})
	}
	if rest > 0 {
		lines = append(lines, messageLine{fmt.Sprintf("%d other messages, see errors.csv", len(e.Messages)-mostMessages), rest})
	}
	return lines
}

// lines returns the class and, below it, its messages.
func (e errorLine) lines() []string {
	s := fmt.Sprintf("%q (count %d)", e.Class, e.Count)
	if e.First != "" && e.First != e.Class {
		s += ", first: " + e.First
	}
	all := []string{s}
	for _, m := range e.Messages {
		all = append(all, fmt.Sprintf("- %d times: %s", m.Count, m.Text))
	}
	return all
}
