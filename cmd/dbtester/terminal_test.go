package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/coreos/dbtester/control"
)

// Member logs, agents and manifests must not move the cursor of their reader.
func TestTerminalEscapes(t *testing.T) {
	const hostile = "etcd: \x1b[2J\x1b]0;owned\x07 panicked"
	var errw, status, rewritten bytes.Buffer
	a := &app{streams: streams{err: &errw}}
	a.exitCode(errors.New(hostile))
	newProgress(&status, false).report(control.Update{Text: hostile})
	terminal := newProgress(&rewritten, false)
	terminal.columns = func() int { return 80 }
	terminal.report(control.Update{Text: hostile, Step: true})
	for what, got := range map[string]string{"an error": errw.String(), "progress": status.String(), "a step at a terminal": rewritten.String()} {
		if strings.ContainsAny(got, "\x1b\x07") || !strings.Contains(got, `\x1b[2J`) {
			t.Errorf("%s is printed as %q, want its escapes made visible", what, got)
		}
	}
}
