package headline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Sizes of a terminal's first screen.
const (
	// screenWidth is in characters.
	screenWidth = 100
	// screenPoints is the largest number of table rows, and screenDoubts the number of doubts
	// printed with their texts. Doubts are dropped first.
	screenLines, screenPoints, screenDoubts = 24, 10, 2
	// barWidth is the length of the longest bar in characters.
	barWidth = 20
)

// Screen returns the first screen for the end of a run in a terminal: at most 24 lines of 100
// characters, or more if there are many databases. The report has the rest.
func (h *Headline) Screen() string {
	var lines []string
	add := func(text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			lines = append(lines, strings.Split(text, "\n")...)
		}
	}
	for _, line := range h.Foremost() {
		add(table.Fold(line, screenWidth, "  "))
	}
	add(table.Fold(h.What, screenWidth, ""))
	add(table.Fold(h.Verdict, screenWidth, ""))
	if h.Choice != nil {
		add(table.Fold("Need: "+h.Choice.Verdict, screenWidth, "  "))
	}
	lines = append(lines, "")
	add(h.numbers(screenPoints))
	lines = append(lines, "")
	add(h.Facts.text())
	add(table.Fold(h.WhyText(), screenWidth, "  "))
	add(table.Fold(h.Grade.String(), screenWidth, "  "))
	add(h.doubtLines(max(0, min(screenDoubts, screenLines-len(lines)-2))))
	if len(h.Unequal) > 0 {
		add(cut("Settings that differ: " + strings.Join(settingNames(h.Unequal), ", ")))
	}
	return plaintext.Visible(strings.Join(lines, "\n") + "\n")
}

// doubtLines states up to most doubts that could change the order, and counts the others.
func (h *Headline) doubtLines(most int) string {
	var lines []string
	could, cannot := 0, 0
	for _, d := range h.Doubts {
		switch {
		case !d.Could:
			cannot++
		case could < most:
			could++
			lines = append(lines, cut("Doubt: "+d.String()))
		default:
			could++
		}
	}
	if more := moreDoubts(could-most, cannot, len(h.Columns) > 1); more != "" {
		lines = append(lines, more)
	}
	return strings.Join(lines, "\n")
}

// cut shortens a line to the screen's width.
func cut(text string) string {
	letters := []rune(text)
	if len(letters) <= screenWidth {
		return text
	}
	return strings.TrimRight(string(letters[:screenWidth-4]), " ,;:") + " ..."
}

// moreDoubts counts the doubts that are not printed.
func moreDoubts(could, cannot int, several bool) string {
	what := "the numbers"
	if several {
		what = "the order"
	}
	var parts []string
	if could > 0 {
		parts = append(parts, fmt.Sprintf("%d more could change %s", could, what))
	}
	if cannot > 0 {
		parts = append(parts, fmt.Sprintf("%d note%s cannot change %s", cannot, run.Plural(cannot), what))
	}
	return strings.Join(parts, "; ")
}

// settingNames returns the setting names from lines such as "fsync: A: x; B: y".
func settingNames(lines []string) (names []string) {
	for _, l := range lines {
		name, _, _ := strings.Cut(l, ":")
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(name, "load parameter "), "option "))
	}
	return run.Distinct(names)
}

// text draws the points as a table with up to most rows, including the first and the last.
func (p *Points) text(most int) string {
	if len(p.Columns) == 1 {
		return p.single(most)
	}
	return p.several(most)
}

// aligned formats rows as columns of equal width; the first column is left-aligned.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0:
				line += cell + space
			case strings.ContainsAny(cell, "█▏▎▍▌▋▊▉"):
				line += "  " + cell + space
			default:
				line += "  " + space + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// single draws the points of one database, or several databases as rows, with bars.
func (p *Points) single(most int) string {
	top := 0.0
	for _, row := range p.Rows {
		if v := row.Cells[0].Throughput.Value; v != nil {
			top = max(top, *v)
		}
	}
	rows := [][]string{{p.Of, "requests/s", "", "p50", "p99", "longest", "not ok"}}
	for _, at := range chosen(len(p.Rows), most) {
		c := p.Rows[at].Cells[0]
		rows = append(rows, []string{label(p.Rows[at].Label, c.Valid), c.Throughput.Text, bar(c.Throughput.Value, top), c.P50.Text, c.P99.Text, c.Max.Text, c.Failed.Text})
	}
	return aligned(rows)
}

// several draws every database's throughput and p99 by point: in one table, in two if that is too
// wide, and with folded names if two are also too wide.
func (p *Points) several(most int) string {
	throughput, latency := p.byColumn(chosen(len(p.Rows), most))
	both := beside(throughput, latency)
	if text := aligned(both); lineWidth(text) <= screenWidth {
		return text
	}
	latency[0] = append([]string{"p99"}, p.Columns...)
	if text := aligned(throughput); lineWidth(text) <= screenWidth {
		return text + "\n" + aligned(latency)
	}
	return table.Frame(throughput[0], [][][]string{throughput[1:]}) + "\n" + table.Frame(latency[0], [][][]string{latency[1:]})
}

// byColumn returns tables of throughput and p99 latency with a column per database, for the points
// at indexes.
func (p *Points) byColumn(indexes []int) (throughput, latency [][]string) {
	throughput, latency = [][]string{{p.Of}}, [][]string{{p.Of}}
	for _, c := range p.Columns {
		throughput[0], latency[0] = append(throughput[0], c), append(latency[0], "p99 "+c)
	}
	for _, at := range indexes {
		t, l := []string{p.Rows[at].Label}, []string{p.Rows[at].Label}
		for _, c := range p.Rows[at].Cells {
			t, l = append(t, perSecond(c.Throughput)), append(l, c.P99.Text)
		}
		throughput, latency = append(throughput, t), append(latency, l)
	}
	return throughput, latency
}

// beside joins two tables that have the same first column.
func beside(a, b [][]string) (rows [][]string) {
	for i := range a {
		rows = append(rows, slices.Concat(a[i], b[i][1:]))
	}
	return rows
}

// lineWidth returns the length of the longest line in characters.
func lineWidth(text string) (most int) {
	for line := range strings.SplitSeq(text, "\n") {
		most = max(most, utf8.RuneCountInString(line))
	}
	return most
}

// perSecond formats a throughput with its unit.
func perSecond(v PointValue) string {
	if v.Value == nil {
		return v.Text
	}
	return v.Text + "/s"
}

// label names a row, with a warning if its numbers must not be used.
func label(name string, valid bool) string {
	if !valid {
		return name + " (not valid)"
	}
	return name
}

// bar draws a value as a bar of at most barWidth characters.
func bar(v *float64, top float64) string {
	if v == nil || top <= 0 {
		return ""
	}
	const eighths = 8
	n := int(math.Round(*v / top * barWidth * eighths))
	text := strings.Repeat("█", n/eighths)
	if rest := n % eighths; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// chosen picks up to most of n rows evenly, including the first and the last.
func chosen(n, most int) (list []int) {
	if n <= most {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	for i := range most {
		list = append(list, i*(n-1)/(most-1))
	}
	return list
}
