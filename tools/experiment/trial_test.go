package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A trial is a section with a table, and a missed bar is an error. Trials after a failed one still run, and
// trials that are not named are left out.
func TestTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	script := "#!/bin/sh\nmkdir -p \"$6/a/b\" && head -1 \"$4\" >\"$6/a/b/manifest.json\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	judge := func(measured int64) func(string) ([]Finding, error) {
		return func(manifest string) ([]Finding, error) {
			if text, err := os.ReadFile(manifest); err != nil || !strings.HasPrefix(string(text), "title: ") {
				return nil, errors.Join(err, errors.New("no title"))
			}
			return []Finding{Exactly("lost", measured, 0)}, nil
		}
	}
	beside := 0
	all := []Trial{
		{Name: "good", Title: "A good one", Judge: judge(0), Beside: func(context.Context, *os.Process, string) { beside++ }},
		{Name: "failing", Title: "A failing one", Judge: func(string) ([]Finding, error) { return nil, errors.New("no records") }},
		{Name: "bad", Title: "A bad one", Judge: judge(3)},
		{Name: "other", Title: "Another", Judge: judge(3)},
	}
	var out, progress strings.Builder
	err := Trials(t.Context(), path, t.TempDir(), "good,failing,bad", all, &out, &progress)
	if err == nil || err.Error() != "failing: no records\nbad: lost: 3, the bar is 0" {
		t.Errorf("got error %v", err)
	}
	want := "\n## A good one\n\n| | measured | bar | |\n|---|---|---|---|\n| lost | 0 | 0 | met |\n\n## A failing one\n\nFailed: no records\n\n## A bad one\n\n| | measured | bar | |\n|---|---|---|---|\n| lost | 3 | 0 | **missed** |\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if beside != 1 || strings.Count(progress.String(), "\n") != 3 {
		t.Errorf("%d functions ran beside, want 1, and the progress is\n%s", beside, progress.String())
	}
}

// A name no trial has is an error, before any trial runs.
func TestTrialsNames(t *testing.T) {
	var out, progress strings.Builder
	err := Trials(t.Context(), "none", t.TempDir(), "good,god", []Trial{{Name: "good"}}, &out, &progress)
	if err == nil || err.Error() != `there is no trial "god"` || out.Len()+progress.Len() > 0 {
		t.Errorf("got %v and %q", err, out.String())
	}
}

// A counter is read from the text that a member sends, and a text without it is an error.
func TestCounter(t *testing.T) {
	c := Counter{Series: "expired_total"}
	if n, err := c.parse(strings.NewReader("# TYPE x counter\nx 1\nexpired_total 2e+04\n")); err != nil || n != 20_000 {
		t.Errorf("got %d, %v, want 20000", n, err)
	}
	if _, err := c.parse(strings.NewReader("x 1\n")); err == nil {
		t.Error("a text without the counter was read")
	}
}
