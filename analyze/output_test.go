package analyze

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/analyze/chart"
	"github.com/coreos/dbtester/analyze/figure"
	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// topOfReport returns the entries at the top of a report.
func topOfReport() []string {
	return []string{"README.md", "all-aggregated.csv", "all-aggregated.json", "all-aggregated.txt", "data", "figures", "numbers.csv", "report.html"}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// linksOfPage returns addresses of other files in a page.
func linksOfPage(t *testing.T, text string) (links []string) {
	t.Helper()
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range page.Descendants() {
		for _, a := range n.Attr {
			if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "data:") {
				links = append(links, a.Val)
			}
		}
	}
	return links
}

// linksOfMarkdown returns the addresses in links and images outside code.
func linksOfMarkdown(text string) (links []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			continue
		}
		for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(part, -1) {
			links = append(links, m[1])
		}
	}
	return links
}

// wantFiles fails for addresses that are neither a file nor a part of a page in a folder. It
// ignores addresses of documents in a release.
func wantFiles(t *testing.T, dir string, links []string) {
	t.Helper()
	for _, link := range links {
		address, err := url.Parse(link)
		if err != nil || address.Host == "github.com" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, address.Path))
		if err != nil || !filepath.IsLocal(address.Path) || !info.Mode().IsRegular() && !info.IsDir() {
			t.Errorf("the link %q must lead to a file of the report: %v", link, err)
			continue
		}
		if address.Fragment == "" {
			continue
		}
		if page, err := os.ReadFile(filepath.Join(dir, address.Path)); err != nil || !strings.Contains(string(page), `id="`+address.Fragment+`"`) {
			t.Errorf("the link %q must lead to a part of the page: %v", link, err)
		}
	}
}

// A report has few entries at its top, and every link in it leads to one of its files.
func TestReportFolder(t *testing.T) {
	r, err := analyzed(t, Options{Folders: []string{runtest.TwoDatabases(t)}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(topOfReport(), namesIn(t, r.Dir)); diff != "" {
		t.Errorf("the top of the report (-want +got):\n%s", diff)
	}
	files := tree(t, r.Dir)
	links := linksOfPage(t, files["report.html"])
	wantFiles(t, r.Dir, links)
	for name := range files {
		if filepath.Dir(name) == dirFigures && !slices.Contains(links, url.PathEscape(dirFigures)+"/"+url.PathEscape(filepath.Base(name))) {
			t.Errorf("the page must link %s", name)
		}
	}
	shown := linksOfMarkdown(files["README.md"])
	if wantFiles(t, r.Dir, shown); len(shown) < 5 {
		t.Errorf("the README must show figures, got the links %q", shown)
	}
}

// flatReport writes a report in the old layout without folders.
func flatReport(t *testing.T, o Options) {
	t.Helper()
	o.Plots, o.Seconds = []chart.Plot{{Column: "AVG-CPU"}, {Column: "MAX-CPU"}}, true
	d, err := newDocument(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.out.figures, d.out.data = d.out.dir, d.out.dir
	d.out.png = false
	if err := d.write(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A report that replaces one with all its files at the top removes these files, and no others.
func TestReportOverFlatReport(t *testing.T) {
	slowtest.Skip(t)
	dir := t.TempDir()
	flatReport(t, Options{Folders: []string{runtest.TwoDatabases(t), runtest.TwoDatabases(t)}, Out: dir})
	flat := namesIn(t, dir)
	for _, name := range []string{"MAX-CPU.svg", "MAX-CPU-BY-CLIENT-NUM.csv", "slow-v3.6-2-all-aggregated.csv", "etcd-v3.6-server-memory-by-key-number.csv"} {
		if !slices.Contains(flat, name) {
			t.Fatalf("the flat report has no %s: %q", name, flat)
		}
	}
	foreign := map[string]string{"mine.svg": "a", "mine-all-aggregated.csv": "b", "AVG-CPU.txt": "c", "notes.md": "d", "figures/mine.svg": "e"}
	for name, text := range foreign {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), []byte(text))
	}
	runs := []string{runtest.TwoDatabases(t)}
	if _, err := analyzed(t, Options{Folders: runs, Out: dir}); err != nil {
		t.Fatal(err)
	}
	want := append(topOfReport(), "mine.svg", "mine-all-aggregated.csv", "AVG-CPU.txt", "notes.md")
	slices.Sort(want)
	if diff := cmp.Diff(want, namesIn(t, dir)); diff != "" {
		t.Errorf("what is left of the flat report (-want +got):\n%s", diff)
	}
	for name, text := range foreign {
		if got := string(readFile(t, filepath.Join(dir, name))); got != text {
			t.Errorf("%s must stay as it was, got %q", name, got)
		}
	}
	// The next report drops files that only this one wrote, and equals one in a new folder.
	if _, err := draw(t, Options{Folders: runs, Out: dir}, "none"); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if _, err := analyzed(t, Options{Folders: runs, Out: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := analyzed(t, Options{Folders: runs, Out: other}); err != nil {
		t.Fatal(err)
	}
	again := tree(t, dir)
	maps.DeleteFunc(again, func(name, _ string) bool { return foreign[name] != "" })
	if diff := cmp.Diff(slices.Sorted(maps.Keys(tree(t, other))), slices.Sorted(maps.Keys(again))); diff != "" {
		t.Errorf("files of a report over another (-in a new folder +over):\n%s", diff)
	}
}

// Without a page by us, the files in a folder belong to others.
func TestForeignFolderKept(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "report.html"), []byte(`<a href="AVG-CPU.svg">`))
	writeFile(t, filepath.Join(dir, "AVG-CPU.svg"), []byte("a"))
	if _, err := analyzed(t, Options{Folders: []string{runtest.TwoDatabases(t)}, Out: dir}); err != nil {
		t.Fatal(err)
	}
	if got := string(readFile(t, filepath.Join(dir, "AVG-CPU.svg"))); got != "a" {
		t.Errorf("the file of others must stay as it was, got %q", got)
	}
}

// A report draws the same figures whether or not it has PNG files and copies of the records.
func TestReportWithoutCopies(t *testing.T) {
	small, large := t.TempDir(), t.TempDir()
	o := Options{Folders: []string{runtest.TwoDatabases(t)}, Plots: []chart.Plot{{Column: "AVG-CPU"}}, Out: small}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Out, o.Seconds = large, true
	d, err := newDocument(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	d.out.draw = func(pictures, data string, f figure.Figure, _ bool) ([]string, error) {
		return figure.Write(pictures, data, f, f.Name == "AVG-CPU")
	}
	if err := d.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, all := tree(t, small), tree(t, large)
	for name, text := range all {
		switch copied := strings.HasSuffix(name, ".png") || regexp.MustCompile(`data/.*(-all-aggregated|-by-key-number|-BY-CLIENT-NUM.*)\.csv`).MatchString(name); {
		case copied && got[name] != "":
			t.Errorf("the report must have no %s", name)
		case !copied && got[name] != text:
			t.Errorf("%s differs from that of a report with copies", name)
		}
	}
	if len(got) >= len(all) || all["figures/AVG-CPU.png"] == "" || all["data/etcd-v3.6-all-aggregated.csv"] == "" {
		t.Errorf("%d files without copies, %d with them", len(got), len(all))
	}
}
