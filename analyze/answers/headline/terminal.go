package headline

import (
	"strings"
	"unicode/utf8"
)

// Sizes for the first screen on a terminal.
const (
	// screenWidth is in characters.
	screenWidth = 100
	// screenPoints limits the table rows, and screenDoubts the doubts printed with their texts.
	// Doubts are dropped first.
	screenLines, screenPoints, screenDoubts = 24, 10, 2
	// barWidth is the greatest bar length in characters.
	barWidth = 20
)

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

// lineWidth returns the greatest line length in characters.
func lineWidth(text string) (most int) {
	for line := range strings.SplitSeq(text, "\n") {
		most = max(most, utf8.RuneCountInString(line))
	}
	return most
}
