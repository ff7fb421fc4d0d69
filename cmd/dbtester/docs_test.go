package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocsMan: each command has a page with its flags, hidden commands have no page, and a folder
// that cannot be created is an error.
func TestDocsMan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	code, out, errs := program(t, "docs", "man", dir)
	if code != exitDone || !strings.Contains(out, "manual pages into "+dir) {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	for name, want := range map[string]string{
		"dbtester.1":                `dbtester\-control (1)`,
		"dbtester-control.1":        `\fB\-\-dry\-run\fR`,
		"dbtester-config-check.1":   `.SH EXIT STATUS`,
		"dbtester-docs-man.1":       `dbtester docs man DIR`,
		"dbtester-completion-zsh.1": `zsh`,
	} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s: %v; want %q in it:\n%s", name, err, want, page)
		}
	}
	for _, name := range []string{"dbtester-serve.1", "dbtester-help.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := program(t, "docs", "man", file); code != exitFailed || !strings.Contains(errs, file) {
		t.Errorf("a file in place of a folder: exit code %d, %s", code, errs)
	}
}

// TestExits: the manual pages and the README list the same exit codes.
func TestExits(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Exit codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed, printed []int
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(section, -1) {
		code, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, code)
	}
	for _, e := range exits() {
		printed = append(printed, e.Code)
	}
	if !slices.Equal(listed, printed) {
		t.Errorf("README.md lists exit codes %d, manual pages %d", listed, printed)
	}
}

// TestPagesListed: docs/README.md lists all pages.
func TestPagesListed(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	list, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, below := range []string{"", "how-to/"} {
		pages, err := filepath.Glob(filepath.Join(docs, below, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(list), "("+below+name+")") {
				t.Errorf("docs/README.md must list %s%s", below, name)
			}
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("%d pages, want those of docs and how-to", seen)
	}
}

// Texts for readers have no sentence with more than 40 words, and each answer in docs/how-to has
// fewer than 600. A piece of code or a link is one word. Tables are lists, not sentences.
func TestLengthOfTexts(t *testing.T) {
	const longest, longestAnswer = 40, 600
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "SECURITY.md")}
	for _, pattern := range []string{"*.md", "how-to/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, "docs", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	answers := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(filepath.Dir(page)) == "how-to" {
			answers++
			if n := len(strings.Fields(string(text))); n >= longestAnswer {
				t.Errorf("%s has %d words, want fewer than %d", page, n, longestAnswer)
			}
		}
		for _, s := range sentences(string(text)) {
			if n := len(strings.Fields(s)); n > longest {
				t.Errorf("%s has a sentence of %d words, want at most %d: %s", page, n, longest, s)
			}
		}
	}
	if answers < 7 {
		t.Errorf("%d pages of docs/how-to: the test looks in the wrong place", answers)
	}
}

// sentences returns the sentences on a Markdown page, without code blocks, tables and headings.
func sentences(text string) (all []string) {
	text = regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(text, "")
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "`CODE`")
	text = regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(text, "]")
	text = regexp.MustCompile(`(?m)^ *([|#].*|>|<!--.*)$`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^ *([-*>]|\d+\.) `).ReplaceAllString(text, "\n\n")
	for _, paragraph := range regexp.MustCompile(`\n\s*\n`).Split(text, -1) {
		all = append(all, regexp.MustCompile(`[.!?:][)*_"]*\s`).Split(paragraph, -1)...)
	}
	return all
}
