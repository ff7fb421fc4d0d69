package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
)

// CSV returns every row with one column per run, as in the classic file. It has no footnotes;
// [Tidy] has them.
func (t *Table) CSV() ([]byte, error) {
	header := []string{""}
	for _, c := range t.Columns {
		header = append(header, c.Text)
	}
	records := [][]string{header}
	for _, row := range t.Rows {
		line := []string{row.Name}
		for _, c := range row.Cells {
			if row.Raw && c.Value == nil {
				c.Text = "" // only numbers are written
			}
			line = append(line, c.Text)
		}
		records = append(records, line)
	}
	return EncodeCSV(records)
}

// tidyHeader names the columns in the tidy file.
func tidyHeader() []string {
	return []string{"run", "trial", "database", "step", "operation", "metric", "unit", "value", "n", "low", "high", "note"}
}

// Tidy returns every number of every run as CSV, one number per row. The column value never
// contains text; note contains the qualifications or the reason for a missing value. The column run
// is the run id, empty for classic files. The columns low and high bound the true value if the
// records do not give it exactly, and are empty otherwise. Rows that repeat another row are left
// out, and so are rows for a step that repeat its number in the row for the whole load.
func Tidy(runs []*run.Run) ([]byte, error) {
	t := filled(runs)
	records := [][]string{tidyHeader()}
	written := map[string]bool{} // the numbers for steps
	add := func(i int, row Line, step string, c Cell) {
		record := tidyRecord(runs[i], row, step, c)
		key := fmt.Sprintf("%d %q", i, record)
		if step != "" && written[key] {
			return
		}
		written[key] = step != ""
		records = append(records, record)
	}
	for _, row := range t.Rows {
		if row.Raw {
			continue
		}
		for i, cell := range row.Cells {
			if len(cell.Parts) == 0 {
				add(i, row, row.Step, cell)
			}
			for _, p := range cell.Parts {
				add(i, row, p.Label, p.Cell)
			}
		}
	}
	return EncodeCSV(records)
}

func tidyRecord(r *run.Run, row Line, step string, c Cell) []string {
	id, trial := "", ""
	if m := r.Info.Manifest; m != nil {
		id, trial = m.RunID, strconv.Itoa(m.Trial)
	}
	record := []string{id, trial, r.Info.Record.Tag, step, row.Operation, row.Metric, row.Unit, plain(c.Value), "", plain(c.Low), plain(c.High), tidyNote(c)}
	if c.N > 0 {
		record[8] = strconv.FormatInt(c.N, 10)
	}
	return record
}

// plain formats a number in full; "" for nil.
func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// tidyNote returns the qualifications of a value: its footnotes, the reason why it is missing, or
// the text that replaces it.
func tidyNote(c Cell) string {
	notes := c.Marks
	switch {
	case c.Missing != "" && c.Text != noCell:
		notes = append([]string{c.Text + ": " + c.Missing}, notes...)
	case c.Missing != "":
		notes = append([]string{c.Missing}, notes...)
	case c.Value == nil:
		notes = append([]string{c.Text}, notes...)
	}
	return strings.Join(notes, "; ")
}
