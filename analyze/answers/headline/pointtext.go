package headline

import (
	"math"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/table"
)

// text draws the points as a table with up to most rows, including the first and the last.
func (p *Points) text(most int) string {
	if len(p.Columns) == 1 {
		return p.single(most)
	}
	return p.several(most)
}

// single draws the points for one database, or several databases as rows, with bars.
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

// several draws throughput and p99 of every database by point: in one table, in two if that is too
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

// byColumn returns tables with throughput and p99 latency with a column per database, for the
// points at indexes.
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
