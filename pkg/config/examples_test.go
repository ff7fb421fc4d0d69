package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

// TestExamples loads every example in the repository: without errors or warnings, and with the same
// result after config show.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e, warnings, err := Read(file, testCatalog())
			if err != nil {
				t.Fatalf("read the experiment: %v", err)
			}
			for _, w := range warnings {
				t.Error(w)
			}
			if e.Classic != strings.HasPrefix(filepath.Base(file), "classic-") {
				t.Errorf("classic is %v", e.Classic)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read the file: %v", err)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("an example must begin with a comment about its purpose")
			}
			wantSameAgain(t, file, data)
		})
	}
}

// TestTables compares the key tables in the documentation with the declarations.
func TestTables(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"experiment.md", "workloads.md", "profiles.md", "sweep.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatalf("read the file: %v", err)
		}
		pages[name] = string(data)
	}
	for _, table := range Tables(testCatalog()) {
		seen := false
		for name, page := range pages {
			before, after, found := strings.Cut(page, "# "+table.Heading+"\n")
			if !found {
				continue
			}
			seen = true
			start := strings.Index(after, "| key |")
			if start < 0 {
				t.Fatalf("docs/%s has no table under %q", name, table.Heading)
			}
			end := start
			for end < len(after) && after[end] == '|' {
				end += strings.IndexByte(after[end:], '\n') + 1
			}
			if after[start:end] != table.Text && !*update {
				t.Errorf("docs/%s: the table of %q differs from the declarations (run go test ./pkg/config -update):\n%s",
					name, table.Heading, cmp.Diff(after[start:end], table.Text))
			}
			pages[name] = before + "# " + table.Heading + "\n" + after[:start] + table.Text + after[end:]
		}
		if !seen {
			t.Errorf("no page of docs has the heading %q", table.Heading)
		}
	}
	if !*update {
		return
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join("..", "..", "docs", name), []byte(page), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
}

// TestWorkloadsDoc reads every example on the page on workloads, and searches the page for every
// key.
func TestWorkloadsDoc(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "workloads.md"))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	text := string(data)
	blocks := strings.Split(text, "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Errorf("%d examples", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		parse(t, body+block)
	}
	for _, w := range workload.Workloads() {
		if row := "| `" + w.Name + "` | " + workload.Percents(w.Mix) + " | " + string(w.KeyLaw) + " |"; !strings.Contains(text, row) {
			t.Errorf("no row %q", row)
		}
	}
	for _, law := range workload.KeyLaws() {
		if !strings.Contains(text, "| `"+string(law)+"` |") {
			t.Errorf("no row for the key law %s", law)
		}
	}
}
