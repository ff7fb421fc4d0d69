package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/dustin/go-humanize/english"

	"github.com/coreos/dbtester/analyze/answers/headline"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// looks are the capabilities of an output beyond plain text.
type looks struct{ colour, links bool }

// looksOf decides from the environment which looks an output has. Only terminals have any. NO_COLOR
// (https://no-color.org) disables colour, and a terminal that calls itself dumb, or has no name,
// gets plain text. The Linux console prints links as text.
func looksOf(terminal bool, env func(string) string) looks {
	name := env("TERM")
	able := terminal && name != "" && name != "dumb"
	return looks{colour: able && env("NO_COLOR") == "", links: able && name != "linux"}
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// looks returns the looks of standard output.
func (s streams) looks() looks { return looksOf(isTerminal(s.out), os.Getenv) }

// Colours, by their numbers in ECMA-48. Bold is for the answer, red for errors, yellow for
// warnings; nothing else has a colour.
const (
	bold   = "1"
	red    = "31"
	yellow = "33"
)

// paint returns text in a colour, if the output has colours. Untrusted text must already be
// escaped.
func (l looks) paint(colour, text string) string {
	if !l.colour || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// link returns a path as [relative] does. A terminal with links opens it.
func (l looks) link(path string) string {
	shown := plaintext.Line(relative(path))
	absolute, err := filepath.Abs(path)
	if !l.links || err != nil {
		return shown
	}
	host, err := os.Hostname() // terminals may show files from another machine, by ssh
	if err != nil {
		return shown
	}
	address := url.URL{Scheme: "file", Host: host, Path: absolute}
	return "\x1b]8;;" + address.String() + "\x1b\\" + shown + "\x1b]8;;\x1b\\"
}

// path returns path for standard output, as a link if the terminal has links.
func (s streams) path(path string) string { return s.looks().link(path) }

// screen returns the first screen at the end of the output, with its answer in bold.
func (s streams) screen(h *headline.Headline) string {
	text, l := screenText(h), s.looks()
	if !l.colour {
		return text
	}
	lines := strings.Split(text, "\n")
	verdict := plaintext.Joined(plaintext.Visible(h.Verdict))
	end := slices.Index(lines, "")
	for i, line := range lines[:max(end, 0)] {
		if strings.Contains(verdict, plaintext.Joined(line)) {
			lines[i] = l.paint(bold, line)
		}
	}
	return strings.Join(lines, "\n")
}

// screenText returns the first screen at the end of the output.
func screenText(h *headline.Headline) string {
	return strings.Join(fit(strings.Split(strings.TrimRight(h.Screen(), "\n"), "\n"), screenLines), "\n") + "\n"
}

// fit returns at most n lines: if there are more, the last line counts the omitted ones.
func fit(lines []string, n int) []string {
	n = max(n, 1)
	if len(lines) <= n {
		return lines
	}
	left := len(lines) - n + 1
	return append(slices.Clone(lines[:n-1]), fmt.Sprintf("... and %s; dbtester analyze --all prints all", english.Plural(left, "more line", "")))
}

// Commands that ran or analyzed something end with at most closingLines lines, which fit on a
// terminal. Of these, screenLines are the first screen.
const (
	closingLines = 30
	screenLines  = 24
)
