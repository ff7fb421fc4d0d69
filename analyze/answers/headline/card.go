package headline

import (
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
)

// cardOf returns the card of the ability that the experiment kind is named after; nil if it has no
// card.
func cardOf(kind string, columns []answers.Column) *abilities.Card {
	for _, half := range all.Halves() {
		actor, acts := half.(abilities.Actor)
		carder, ok := half.(abilities.Carder)
		if !acts || !ok || actor.Name() != kind && kind != "none" {
			continue
		}
		var names []string
		var runs [][]*run.Run
		for _, c := range columns {
			names, runs = append(names, c.Name), append(runs, c.Runs)
		}
		if card := carder.Card(names, runs); card != nil {
			return card
		}
	}
	return nil
}

// mostCardRows is the row count above which Markdown has only the leading rows of a card, and text
// lists these first.
const mostCardRows = 28

// numbers draws the card, or at most points rows of the points.
func (h *Headline) numbers(points int) string {
	if h.Card == nil {
		return h.Points.text(points)
	}
	text := ""
	if len(h.Card.Rows) > mostCardRows {
		text = aligned(append([][]string{h.Card.Head}, h.Card.Leading()...)) + "\n"
	}
	text += aligned(append([][]string{h.Card.Head}, h.Card.Rows...))
	for _, note := range h.Card.Notes {
		text += strings.TrimRight(table.Fold(note, screenWidth, "  "), "\n") + "\n"
	}
	return text
}
