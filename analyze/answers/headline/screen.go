package headline

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Screen returns the first screen for when a run ends in a terminal: at most 24 lines with 100
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

// cut shortens a line to the screen width.
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
