package database

import "strings"

// markdown returns a Markdown table whose head has as many columns as each row has cells.
func markdown(head string, rows [][]string) string {
	var b strings.Builder
	b.WriteString(head + "\n|" + strings.Repeat("---|", strings.Count(head, "|")-1) + "\n")
	for _, cells := range rows {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
