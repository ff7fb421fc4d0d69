package page

import (
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers/headline"
)

// Number of rows and value columns in a card that fit on the first screen.
const mostCardRows, mostCardColumns = 8, 4

// card is an ability's small table, in place of the points.
type card struct {
	Head []string
	// ShownHead and Shown are on the first screen: all rows, or only the leading ones. With too
	// many columns the table is transposed.
	ShownHead   []string
	Shown, Rows []cardRow
	Notes       []string
	// Facts are the numbers for the whole load, for which the first screen has no room.
	Facts headline.Facts
}

type cardRow struct {
	Label  string
	Cells  []string
	Detail bool // details the row above
}

// cardOf returns nil for a headline without a card.
func cardOf(h *headline.Headline) *card {
	if h.Card == nil {
		return nil
	}
	head, rows := h.Card.Head, h.Card.Rows
	if len(rows) > mostCardRows {
		rows = h.Card.Leading()
	}
	if len(head)-1 > mostCardColumns && len(rows) <= mostCardColumns {
		head, rows = transposed(head, rows)
	}
	rows = rows[:min(len(rows), mostCardRows)]
	return &card{Head: h.Card.Head, Rows: cardRows(h.Card.Rows), ShownHead: head, Shown: cardRows(rows), Notes: h.Card.Notes, Facts: h.Facts}
}

// transposed returns a table with its columns as rows. Its corner stays.
func transposed(head []string, rows [][]string) (across []string, down [][]string) {
	across = []string{head[0]}
	for _, row := range rows {
		across = append(across, strings.TrimSpace(row[0]))
	}
	for i, label := range head[1:] {
		cells := []string{label}
		for _, row := range rows {
			cells = append(cells, row[i+1])
		}
		down = append(down, cells)
	}
	return across, down
}

func cardRows(rows [][]string) (list []cardRow) {
	for _, cells := range rows {
		label, detail := strings.CutPrefix(cells[0], abilities.Indent)
		list = append(list, cardRow{label, cells[1:], detail})
	}
	return list
}

// Count is the row count in words.
func (c *card) Count() string { return english.Plural(len(c.Rows), "row", "") }
