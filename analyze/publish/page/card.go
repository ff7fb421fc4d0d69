package page

import (
	"strings"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers/headline"
)

// mostCardRows is the number of rows of a card that fit on the first screen.
const mostCardRows = 8

// card is the small table of an ability, in place of the points.
type card struct {
	Head []string
	// Shown are the rows on the first screen: all, or those that are no details.
	Shown, Rows []cardRow
	Notes       []string
	// Facts are the numbers for the whole load, for which the first screen has no room.
	Facts headline.Facts
}

type cardRow struct {
	Label  string
	Cells  []string
	Detail bool // of the row above
}

// cardOf returns nil for a headline without a card.
func cardOf(h *headline.Headline) *card {
	if h.Card == nil {
		return nil
	}
	c := &card{Head: h.Card.Head, Rows: cardRows(h.Card.Rows), Notes: h.Card.Notes, Facts: h.Facts}
	c.Shown = c.Rows
	if len(c.Rows) > mostCardRows {
		c.Shown = cardRows(h.Card.Leading())
	}
	c.Shown = c.Shown[:min(len(c.Shown), mostCardRows)]
	return c
}

func cardRows(rows [][]string) (list []cardRow) {
	for _, cells := range rows {
		label, detail := strings.CutPrefix(cells[0], abilities.Indent)
		list = append(list, cardRow{label, cells[1:], detail})
	}
	return list
}

// Count is the number of rows in words.
func (c *card) Count() string { return counted(len(c.Rows), "row") }
