package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only terminals that support colour and links get them, and NO_COLOR disables only colour.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		terminal      bool
		term, noColor string
		want          looks
	}{
		{true, "xterm-256color", "", looks{colour: true, links: true}},
		{true, "xterm-256color", "1", looks{links: true}},
		{true, "linux", "", looks{colour: true}},
		{true, "dumb", "", looks{}},
		{true, "", "", looks{}},
		{false, "xterm-256color", "", looks{}},
	} {
		env := map[string]string{"TERM": tt.term, "NO_COLOR": tt.noColor}
		if got := looksOf(tt.terminal, func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("terminal %v, TERM=%q, NO_COLOR=%q: %+v, want %+v", tt.terminal, tt.term, tt.noColor, got, tt.want)
		}
	}
}

// A link shows the same path as plain text, and no folder name ends it early.
func TestLink(t *testing.T) {
	const hostile = "a\x1b]8;;https://example.com\x1b\\ b/report.html"
	plain, linked := looks{}.link(hostile), looks{links: true}.link(hostile)
	if strings.Contains(plain, "\x1b") {
		t.Errorf("without links the path is %q", plain)
	}
	if strings.Count(linked, "\x1b") != 4 || !strings.HasPrefix(linked, "\x1b]8;;file://") || !strings.HasSuffix(linked, "\x1b\\"+plain+"\x1b]8;;\x1b\\") {
		t.Errorf("the link is %q, want the path %q between two of its sequences", linked, plain)
	}
}

func TestBrowsers(t *testing.T) {
	const page = "/tmp/a b.html"
	for variable, want := range map[string][][]string{
		"":                            {{"xdg-open", page}},
		"firefox":                     {{"firefox", page}},
		"open -a %s --new::w3m -dump": {{"open", "-a", page, "--new"}, {"w3m", "-dump", page}},
	} {
		if diff := cmp.Diff(want, browsers(variable, page)); diff != "" {
			t.Errorf("BROWSER=%q (-want +got):\n%s", variable, diff)
		}
	}
}

// The lines of the answer are bold, and no others.
func TestPaint(t *testing.T) {
	if got := (looks{}).paint(bold, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	got := (looks{colour: true}).paint(bold, "x")
	if want := "\x1b[1mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if words := beginning([]string{"json", "text"}, "j"); !slices.Equal(words, []string{"json"}) {
		t.Errorf("completed %q", words)
	}
}
