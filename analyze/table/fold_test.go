package table

import (
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/run"
)

func TestFold(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"short", "short"},
		{"one two three", "one two\n  three"},
		{"averyveryverylongword here", "averyveryv\n  erylongw\n  ord here"},
	} {
		if got := Fold(test.in, 10, "  "); got != test.want {
			t.Errorf("fold(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// TestManySteps wants no row that only counts its steps: the tidy file has each number.
func TestManySteps(t *testing.T) {
	var stages []*run.Stage
	var cells []Cell
	for i := range mostStages + 2 {
		value := float64(i)
		stages = append(stages, &run.Stage{Label: run.ClientsText(i + 1)})
		cells = append(cells, Cell{Text: strconv.Itoa(i), Value: &value})
	}
	shown := Table{Rows: []Line{
		{Name: "few", Section: "s", Cells: []Cell{joined(stages[:2], cells[:2])}},
		{Name: "many", Section: "s", Cells: []Cell{joined(stages, cells)}},
	}}
	if n := len(shown.Rows[1].Cells[0].Parts); n != len(stages) {
		t.Errorf("the cell has %d parts of %d", n, len(stages))
	}
	section := shown.Sections()[0]
	if len(section.Rows) != 1 || section.Rows[0].Name != "few" || len(section.Stepped) != 1 {
		t.Errorf("shown: %v, by step in the tidy file: %v", section.Rows, section.Stepped)
	}
	if notes := shown.LeftOut(); len(notes) != 1 || !strings.HasSuffix(notes[0], ": many") {
		t.Errorf("notes: %q", notes)
	}
}
