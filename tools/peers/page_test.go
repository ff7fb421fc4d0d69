package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Sections that are not measured again stay, even if a program with other parts measured them.
func TestPage(t *testing.T) {
	t.Parallel()
	text := map[string]string{"one": "first 1: met\n"}
	var p page
	for _, name := range []string{"one", "two", "three"} {
		p.parts = append(p.parts, part{name: name, title: "Part " + name, measure: func(_ context.Context, _ options, out io.Writer) error {
			_, err := io.WriteString(out, text[name])
			return err
		}})
	}
	p.title, p.about = "Title", "About."
	file := filepath.Join(t.TempDir(), "page.md")
	measure := func(parts string) string {
		t.Helper()
		if err := fill(t.Context(), []string{"-file", file, "-parts", parts}, "target", p); err != nil {
			t.Fatalf("measure %q: %v", parts, err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	measure("one")
	text["one"], text["two"] = "another 1: met\n", "| a: met; b: missed |\n"
	got := measure("two")
	for _, want := range []string{"# Title\n\nAbout.\n", "2 met, 1 missed", "## Part one\n\nfirst 1: met\n\n## Part two\n\n| a: met", "## Part three\n\nNot measured yet: `make target PARTS=three`"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got = measure("one two"); strings.Contains(got, "first") || !strings.Contains(got, "another") {
		t.Errorf("part one must be replaced in\n%s", got)
	}
	if again := measure("two"); again != got {
		t.Errorf("the same measurements must give the same page, got\n%s\nand then\n%s", got, again)
	}
	if err := fill(t.Context(), []string{"-file", file, "-parts", "four"}, "target", p); err == nil || !strings.Contains(err.Error(), "three") {
		t.Errorf("an unknown part must be an error that has the parts, got %v", err)
	}
}

// Each part has its own name and title.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, p := range []page{benchPage(), memoryPage()} {
		names := map[string]bool{}
		for _, one := range p.parts {
			if names[one.name] || names[one.title] || strings.ContainsAny(one.name, " ,") {
				t.Errorf("part %q, %q: both must be unique, and the name one word", one.name, one.title)
			}
			names[one.name], names[one.title] = true, true
			if one.minutes < 1 || one.minutes > 25 {
				t.Errorf("part %q takes %d min, want 1 to 25", one.name, one.minutes)
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	run := func(cpu float64) []usage { return []usage{{requests: 1, cpu: 1000 * 1000, anon: int64(cpu * 1e6)}} }
	rows := []row{
		{name: "other", runs: run(100)},
		{name: "own", runs: run(24), bars: []bar{{anon, "other", 0.24}, {anon, "other", 0.23}, {quantity: anon, most: 25}, {quantity: anon, most: 20}}},
	}
	const want = "RssAnon 0.240 <= 0.24 of other: met; RssAnon 0.240 <= 0.23 of other: missed; RssAnon 24.0 <= 25 MB: met; RssAnon 24.0 <= 20 MB: missed"
	if got := rows[1].verdicts(rows); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := missed(rows); err == nil {
		t.Error("a bar that is missed must be an error")
	}
	// A bar that even the floor misses cannot be met on this machine.
	rows = append(rows, row{name: floorName, runs: run(23.5)})
	rows[1].bars = []bar{{anon, "other", 0.23}, {anon, "other", 0.238}, {anon, floorName, 1}}
	const besides = "RssAnon 0.240 <= 0.23 of other: missed (by the floor too, 0.235); RssAnon 0.240 <= 0.238 of other: missed; RssAnon 1.02 <= 1 of floor: missed"
	if got := rows[1].verdicts(rows); got != besides {
		t.Errorf("got %q, want %q", got, besides)
	}
}
