package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// mostStages limits the stages listed in one cell. The rows for each step have the remaining
// numbers.
const mostStages = 6

// byStage prints a number for each stage: alone if there is one stage, otherwise with labels. A
// number over different kinds of stages would describe no stage.
func byStage(get func(*run.Stage) Cell) func(*run.Run) Cell {
	return func(r *run.Run) Cell {
		if len(r.Stages) == 1 {
			return get(r.Stages[0])
		}
		var cells []Cell
		for _, g := range r.Stages {
			cells = append(cells, get(g))
		}
		return joined(r.Stages, cells)
	}
}

// joined merges the cells for several stages into one. A reason that all stages share is printed
// once.
func joined(stages []*run.Stage, cells []Cell) Cell {
	var parts []Part
	var marks []string
	applies, same := false, true
	for i, c := range cells {
		applies = applies || c.applies()
		same = same && c.Missing != "" && c.Text == cells[0].Text && c.Missing == cells[0].Missing
		parts = append(parts, Part{stages[i].Label, c})
		marks = append(marks, c.Marks...)
	}
	switch {
	case len(cells) == 0:
		return missing("no step was recorded")
	case same:
		return cells[0]
	case !applies:
		return inapplicable("%s", cells[0].Missing)
	case len(cells) > mostStages:
		return Cell{Text: joinedText(parts), Parts: parts, Marks: run.Distinct(marks)}
	}
	return Cell{Text: joinedText(parts), Parts: parts}
}

// joinedText lists all parts in one text, or states their number.
func joinedText(parts []Part) string {
	if len(parts) > mostStages {
		return fmt.Sprintf("by step: %d kinds of steps", len(parts))
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Label+": "+p.Text)
	}
	return strings.Join(texts, partSeparator)
}

// kindsNote explains cells with several numbers.
func kindsNote(runs []*run.Run) (notes []string) {
	if slices.ContainsFunc(runs, (*run.Run).Staged) {
		notes = append(notes, "a load whose steps differ in clients or rate has a number for each kind of step: one number over different kinds would describe none of them")
	}
	return notes
}
