package dbtester_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCodemap compares docs/codemap.md with the package comments: it consists of their first
// sentences.
func TestCodemap(t *testing.T) {
	const file = "docs/codemap.md"
	want := codemap(t)
	if u := flag.Lookup("update"); u != nil && u.Value.String() == "true" { // databasetest.Main declares it
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatalf("write the codemap: %v", err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the codemap: %v", err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the packages' comments say: go test -run TestCodemap -update .", file)
	}
}

// codemap is a table with every package and the first sentence of its comment.
func codemap(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Packages\n\nThe first sentence of each package's comment; [ARCHITECTURE.md](../ARCHITECTURE.md) shows how they fit together. Written by `go test -run TestCodemap -update .`.\n\n| package | contents |\n|---|---|\n")
	tree := sources(t)
	for _, dir := range slices.SortedFunc(maps.Keys(tree), func(a, b string) int {
		return cmp.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
	}) {
		text := synopsis(t, tree[dir])
		if text == "" {
			t.Errorf("%s has no package comment", dir)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", dir, strings.ReplaceAll(text, "|", `\|`))
	}
	return b.String()
}

// synopsis is the first sentence of a package comment, without the words at the beginning of every
// such sentence.
func synopsis(t *testing.T, files []string) string {
	t.Helper()
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatalf("parse the Go file: %v", err)
		}
		if f.Doc != nil {
			text := new(doc.Package).Synopsis(f.Doc.Text())
			return strings.TrimSuffix(strings.NewReplacer("Package "+f.Name.Name+" ", "", "Command dbtester ", "").Replace(text), ".")
		}
	}
	return ""
}

// codemapPlace is the first cell in a table row in ARCHITECTURE.md.
var codemapPlace = regexp.MustCompile("(?m)^\\| `([a-z/.0-9]+)` \\|")

// TestArchitecture compares ARCHITECTURE.md with the tree: every place in it exists, every
// room has one, and the page can be read in one sitting.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatalf("read ARCHITECTURE.md: %v", err)
	}
	places := map[string]bool{}
	for _, m := range codemapPlace.FindAllSubmatch(text, -1) {
		place := string(m[1])
		places[place] = true
		if _, err := os.Stat(place); err != nil {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", place)
		}
	}
	for _, rooms := range floors {
		for _, room := range rooms {
			if !places[room] {
				t.Errorf("ARCHITECTURE.md does not name %s", room)
			}
		}
	}
	if n := len(strings.Fields(string(text))); n > 1500 {
		t.Errorf("ARCHITECTURE.md must have at most 1,500 words, has %d: details belong to the comments of packages", n)
	}
}
