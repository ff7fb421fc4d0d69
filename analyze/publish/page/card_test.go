package page

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/answers/headline"
)

// TestWideCard: a card with more columns than fit on the first screen has a row for each of them
// there, if it has few rows; below the fold it is as it was.
func TestWideCard(t *testing.T) {
	table := func(columns, rows int) *headline.Headline {
		c := &abilities.Card{Head: []string{"time"}}
		for i := range columns {
			c.Head = append(c.Head, fmt.Sprint("database ", i))
		}
		for i := range rows {
			row, detail := []string{fmt.Sprint("fault ", i)}, []string{abilities.Indent + "p99"}
			for j := range columns {
				row, detail = append(row, fmt.Sprint(i, j)), append(detail, "-")
			}
			c.Rows = append(c.Rows, row, detail, detail, detail, detail)
		}
		return &headline.Headline{Card: c}
	}
	c := cardOf(table(6, 2))
	wantHead := []string{"time", "fault 0", "fault 1"}
	if !reflect.DeepEqual(c.ShownHead, wantHead) || len(c.Shown) != 6 || !reflect.DeepEqual(c.Shown[5], cardRow{"database 5", []string{"0 5", "1 5"}, false}) {
		t.Errorf("the first screen has %v and %v", c.ShownHead, c.Shown)
	}
	if len(c.Head) != 7 || len(c.Rows) != 10 {
		t.Errorf("below the fold are %v and %d rows", c.Head, len(c.Rows))
	}
	for name, other := range map[string]*card{"few columns": cardOf(table(4, 2)), "many rows": cardOf(table(6, 5))} {
		if !reflect.DeepEqual(other.ShownHead, other.Head) {
			t.Errorf("%s: the first screen has the head %v", name, other.ShownHead)
		}
	}
}
