// Package plaintext makes text from others safe to show: on a terminal, in Markdown, in a
// spreadsheet, and in a command line.
package plaintext

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text with some characters escaped: control characters except line breaks and
// tabs, characters that change the text direction, and line breaks that only Unicode has. A
// terminal or a parser would obey them.
func Visible(text string) string {
	if !strings.ContainsFunc(text, hidden) && strings.ToValidUTF8(text, "") == text {
		return text
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
}

// JSON returns a JSON text in which JSON escapes replace the characters that [Visible] escapes. Its
// meaning stays the same. Encoders leave some of these characters in strings.
func JSON(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Markdown escapes text so that Markdown shows it literally, without HTML, links, images, code or
// headings.
func Markdown(text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "`", "\\`", `\`, `\\`).Replace(Visible(text))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		// These begin a heading, a rule or an underlined heading only at the start of a line.
		if trimmed := strings.TrimLeft(line, " \t"); trimmed != "" && strings.ContainsRune("#=~", rune(trimmed[0])) {
			lines[i] = line[:len(line)-len(trimmed)] + `\` + trimmed
		}
	}
	return strings.Join(lines, "\n")
}

// Fenced returns text for a fenced code block it cannot close.
func Fenced(text string) string {
	return strings.ReplaceAll(Visible(text), "```", "'''")
}

// Line returns text as one line: [Visible], with spaces instead of line breaks and tabs.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Visible(text))
}

// Short returns text as [Line] does, cut to most characters and "..." if it is longer.
func Short(text string, most int) string {
	text = Line(text)
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "..."
	}
	return text
}

// Joined returns text on one line, with single spaces in place of white space.
func Joined(text string) string { return strings.Join(strings.Fields(text), " ") }

// Cell returns text for a Markdown table cell it cannot close.
func Cell(text string) string { return strings.ReplaceAll(Markdown(Line(text)), "|", `\|`) }

// Table returns a Markdown table. The first left columns are left-aligned, the others
// right-aligned. A line break in a cell remains one in the table.
func Table(header []string, rows [][]string, left int) string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, cell := range cells {
			lines := strings.Split(cell, "\n")
			for i := range lines {
				lines[i] = Cell(lines[i])
			}
			b.WriteString(" " + strings.Join(lines, "<br>") + " |")
		}
		b.WriteString("\n")
	}
	line(header)
	b.WriteString("|" + strings.Repeat("---|", left) + strings.Repeat("---:|", len(header)-left) + "\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// Field returns text as a CSV field, like [Visible], that no spreadsheet treats as a formula: text
// that looks like a formula gets an apostrophe in front. Numbers are unchanged.
func Field(text string) string {
	text = Visible(text)
	if first, size := utf8.DecodeRuneInString(text); size == len(text) || !strings.ContainsRune("=+-@\t\n＝＋－＠", first) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// Link returns path with slashes as the address in a Markdown link that it cannot close.
func Link(path string) string {
	return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: path}).EscapedPath())
}

// Word returns text quoted as one word for a shell, on one line.
func Word(text string) string {
	text = Line(text)
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./+:,@%=", r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
