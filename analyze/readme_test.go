package analyze

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// publishedRecords unpacks the records in a folder below test-results.
func publishedRecords(t *testing.T, name string) (runs []string) {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join("..", "test-results", name, "records", "*"))
	if err != nil || len(packed) == 0 {
		t.Fatalf("test-results/%s must have records: %v", name, err)
	}
	for _, records := range packed {
		run := filepath.Join(t.TempDir(), filepath.Base(records))
		const copied = `mkdir "$2" && cp "$1"/manifest.json "$2" && for f in "$1"/*.tar.gz; do tar -C "$2" -xzf "$f" || exit 1; done`
		if out, err := exec.Command("bash", "-c", copied, "copy", records, run).CombinedOutput(); err != nil {
			t.Fatalf("unpack %s: %v\n%s", records, err, out)
		}
		runs = append(runs, run)
	}
	return runs
}

// The README of a large report is short and links the rest.
func TestReadmeIsShort(t *testing.T) {
	slowtest.Skip(t)
	for _, name := range []string{"stepped", "all-five", "capacity", "leader-killed", "filled"} {
		d, err := newDocument(t.Context(), Options{Folders: publishedRecords(t, name)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d.drawn = d.charts.Figures()
		readme := d.markdown()
		if n := strings.Count(readme, "\n"); n > mostReadmeLines || n < 60 {
			t.Errorf("the README of %s must have 60 to %d lines, got %d", name, mostReadmeLines, n)
		}
		for _, want := range []string{"](report.html#numbers)", "](report.html#meaning)", "](numbers.csv)", "](all-aggregated.txt)"} {
			if !strings.Contains(readme, want) {
				t.Errorf("the README of %s must have the link %s", name, want)
			}
		}
		images := regexp.MustCompile(`(?m)^!\[`).FindAllString(readme, -1)
		if len(images) == 0 || len(images) > mostLeading {
			t.Errorf("the README of %s must show 1 to %d figures, got %d", name, mostLeading, len(images))
		}
		checkMarkdown(t, readme)
		t.Logf("%s: %d lines", name, strings.Count(readme, "\n"))
	}
}

func TestShortened(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\n- 1\n- 2\n- 3\n":                  "a\n\n- 1\n- 2\n- 3\n",
		"- 1\n- 2\n- 3\n- 4\n\nb\n":             "- 1\n- 2\n- 2 more: [report.html](report.html)\n\nb\n",
		"| a | b |\n|---|---|\n| 1 | 2 |\n":     "| a | b |\n|---|---|\n| 1 | 2 |\n",
		"| a\\|b | c |\n|---|---|\n|1\n| 2\n":   "| a\\|b | c |\n|---|---|\n|1\n| 2\n",
		"| a\\|b | c |\n|---|---|\n| 1\n| 2\n":  "| a\\|b | c |\n|---|---|\n| 2 more: [report.html](report.html) | |\n",
		"- 1\n- 2\n- 3\n- 4\n| a |\n|---|\nend": "- 1\n- 2\n- 2 more: [report.html](report.html)\n| a |\n|---|\nend",
	} {
		if got := shortened(in, 3); got != want {
			t.Errorf("shortened(%q) = %q, want %q", in, got, want)
		}
	}
}
