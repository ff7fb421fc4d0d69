package main

import (
	"fmt"
	"go/ast"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
)

// habits are words that comments use in place of the field's own, or use too often: in comments of
// net/http, cmd/go, etcd and gRPC, "of" occurs 129 to 177 times in 10,000 words, a possessive 16 to
// 44 times, and "how" 1 to 4 times. The last row has two words the field uses.
var habits = []struct {
	name  string
	match *regexp.Regexp
}{
	{"of", regexp.MustCompile(`(?i)\bof\b`)},
	{"possessives", regexp.MustCompile(`(?i)[a-z]('s|s')([\s.,;:)]|$)`)},
	{"how", regexp.MustCompile(`(?i)\bhow\b`)},
	{"what", regexp.MustCompile(`(?i)\bwhat\b`)},
	{"say, says, said", regexp.MustCompile(`(?i)\b(say|says|said)\b`)},
	{"tell, tells, told", regexp.MustCompile(`(?i)\b(tell|tells|told)\b`)},
	{"nobody, somebody, who", regexp.MustCompile(`(?i)\b(nobody|somebody|who)\b`)},
	{"none", regexp.MustCompile(`(?i)\bnone\b`)},
	{"beside, besides", regexp.MustCompile(`(?i)\bbesides?\b`)},
	{"stand, stands", regexp.MustCompile(`(?i)\bstands?\b`)},
	{"so many, so long", regexp.MustCompile(`(?i)\bso (many|long)\b`)},
	{"report(s), return(s)", regexp.MustCompile(`(?i)\b(reports?|returns?)\b`)},
}

var (
	word   = regexp.MustCompile(`[A-Za-z][A-Za-z'-]*`)
	asLong = regexp.MustCompile(`(?i)\bso (many|long) as\b`)
)

// comment holds the text in a comment group, without slashes, and its file and line.
type comment struct {
	at, text string
}

func comments(t *tree) []comment {
	var all []comment
	for _, s := range t.sources {
		for _, g := range s.file.Comments {
			if text := strings.TrimSpace(g.Text()); text != "" {
				all = append(all, comment{fmt.Sprintf("%s:%d", s.path, t.fset.Position(g.Pos()).Line), text})
			}
		}
	}
	return all
}

func printProse(w io.Writer, t *tree) {
	words, counts := 0, make([]int, len(habits))
	for _, c := range comments(t) {
		text := asLong.ReplaceAllString(c.text, "")
		words += len(word.FindAllString(c.text, -1))
		for i, h := range habits {
			counts[i] += len(h.match.FindAllString(text, -1))
		}
	}
	heading(w, "Words of comments", "word", "per 10,000", "times")
	for i, h := range habits {
		row(w, h.name, fmt.Sprintf("%.1f", 10000*float64(counts[i])/float64(max(words, 1))), counts[i])
	}
	repeats := repeated(t)
	fmt.Fprintf(w, "\n%d words of comments. %d doc comments define a name by itself", words, len(repeats))
	for i, r := range repeats[:min(8, len(repeats))] {
		fmt.Fprint(w, []string{": ", "; "}[min(i, 1)], r)
	}
	fmt.Fprintln(w, ".")
}

// repeated returns the doc comments that define a name by its own words.
func repeated(t *tree) []string {
	var found []string
	note := func(s *source, name string, doc *ast.CommentGroup) {
		if doc != nil && repeats(name, doc.Text()) {
			found = append(found, fmt.Sprintf("%s %q", s.path, strings.TrimSpace(doc.Text())))
		}
	}
	for _, s := range t.sources {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				note(s, d.Name.Name, d.Doc)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						note(s, spec.Name.Name, docOf(spec.Doc, d.Doc))
					case *ast.ValueSpec:
						note(s, spec.Names[0].Name, docOf(spec.Doc, d.Doc))
					}
				}
			}
		}
	}
	return found
}

func docOf(own, group *ast.CommentGroup) *ast.CommentGroup {
	if own != nil {
		return own
	}
	return group
}

var camel = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// repeats reports whether the first sentence in a doc comment defines name by its own words: "X is
// ..." where the next five words contain all the words in X.
func repeats(name, doc string) bool {
	sentence, _, _ := strings.Cut(strings.ReplaceAll(doc, "\n", " ")+" ", ". ")
	fields := word.FindAllString(strings.ToLower(sentence), -1)
	if len(fields) < 3 || fields[0] != strings.ToLower(name) || (fields[1] != "is" && fields[1] != "are") {
		return false
	}
	said := fields[2:min(len(fields), 7)]
	for _, part := range camel.FindAllString(name, -1) {
		if !containsStem(said, strings.ToLower(part)) {
			return false
		}
	}
	return true
}

// containsStem ignores a plural s.
func containsStem(words []string, part string) bool {
	stem := strings.TrimSuffix(part, "s")
	for _, w := range words {
		if strings.TrimSuffix(w, "s") == stem || (strings.EqualFold(part, "of") || strings.EqualFold(part, "for")) {
			return true
		}
	}
	return false
}

// printSample prints n comments drawn without repetition.
func printSample(w io.Writer, t *tree, n int, seed uint64) {
	if n <= 0 {
		return
	}
	all := comments(t)
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	fmt.Fprintf(w, "\n## %d of %d comments, seed %d\n\n", min(n, len(all)), len(all), seed)
	for _, c := range all[:min(n, len(all))] {
		fmt.Fprintf(w, "- %s: %s\n", c.at, strings.ReplaceAll(c.text, "\n", " "))
	}
}
