package analyze

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
)

// A label in a classic file may name a version that did not run. Wherever the label is printed, the
// version that ran is next to it: in figures and legends, in CSV headers, in every sentence.
func TestNoOtherVersionIsNamedThanRan(t *testing.T) {
	const tag, ran = "etcd-v3.3.0", " (ran 3.7.3)"
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	labelled := f.Database(tag, 2*time.Millisecond)
	labelled.Label, labelled.Asked, labelled.Fsync = "v3_3", "v3.3.0", "none"
	for i := range labelled.Members {
		labelled.Members[i].Version = "3.7.3"
		labelled.Members[i].Release = &results.Release{Notes: []string{"a note"}}
	}
	labelled.Validity = []results.Mark{{Code: "late", Text: "too late"}, {Code: "keys found", Text: "none", Invalid: true}}
	f.Database("other", 6*time.Millisecond)
	folder := f.Write()
	d, err := newDocument(t.Context(), Options{Folders: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := analyzed(t, Options{Folders: []string{folder}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(where, text string) (found int) {
		text = strings.Join(strings.Fields(text), " ")
		parts := strings.Split(text, tag)
		for i, rest := range parts[1:] {
			fileName := strings.HasSuffix(parts[i], "-") || strings.HasPrefix(rest, "-")
			if !fileName && !strings.HasPrefix(rest, ran) && !strings.HasPrefix(rest, " (built-in)"+ran) {
				t.Errorf("%s names %s alone: ...%s%s%.40s", where, tag, parts[i][max(0, len(parts[i])-60):], tag, rest)
			}
		}
		return len(parts) - 1
	}
	found := check("the verdict", strings.Join(d.Headline.Top(), "\n")) + check("trust", strings.Join(d.Headline.Reasons(), "\n")) + check("the notes", strings.Join(d.Shown.Notes, "\n"))
	if found < 3 {
		t.Errorf("verdict, trust and notes name it %d times", found)
	}
	figures := 0
	for _, f := range d.charts.Figures() {
		texts := slices.Concat([]string{f.Title, f.Subtitle}, f.Notes, f.Panels, f.Categories)
		for _, s := range f.Series {
			texts = append(texts, s.Name)
		}
		figures += check("figure "+f.Name, strings.Join(texts, "\n"))
	}
	if figures < 10 {
		t.Errorf("figures name it %d times", figures)
	}
	heads := 0
	for name, text := range tree(t, r.Dir) {
		switch filepath.Ext(name) {
		case ".csv":
			head, _, _ := strings.Cut(text, "\n")
			heads += check("the head of "+name, head)
		case ".html", ".svg":
			check(name, text)
		case ".md":
			first, rest, _ := strings.Cut(text, "\n## Numbers\n") // cells in its table are folded
			_, rest, _ = strings.Cut(rest, "\n## How it was run\n")
			check(name, first+rest)
		case ".txt":
			_, lists, _ := strings.Cut(text, "0 in every column")
			check(name, lists)
		}
	}
	if heads < 10 {
		t.Errorf("heads of CSV files name it %d times", heads)
	}
}
