package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples loads every example of the repository: no errors, no warnings,
// the same again when shown.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e, warnings, err := Read(file, testCatalog())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				t.Error(w)
			}
			if e.Classic != strings.HasPrefix(filepath.Base(file), "classic-") {
				t.Errorf("classic is %v", e.Classic)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data), "# ") {
				t.Error("it does not begin by saying what it is for")
			}
			wantSameAgain(t, file, data)
		})
	}
}

// TestWorkloadsDoc reads every example of the page on workloads, and looks for
// every key in it.
func TestWorkloadsDoc(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "workloads.md"))
	if err != nil {
		t.Fatal(err)
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
	load, step, _ := strings.Cut(text, "### Keys of a step")
	r := &reader{catalog: testCatalog()}
	for part, known := range map[string]keys{load: r.loadKeys(&loadSpec{}, &given[[2]int]{}), step: r.stepKeys(&stepSpec{})} {
		for key := range known {
			if !strings.Contains(part, "| `"+key+"`") && !strings.Contains(part, ", `"+key+"` |") {
				t.Errorf("no row for %s", key)
			}
		}
	}
	for _, w := range workloads() {
		if row := "| `" + w.name + "` | " + percents(w.mix) + " | " + w.keyLaw + " |"; !strings.Contains(text, row) {
			t.Errorf("no row %q", row)
		}
	}
	for _, law := range keyLaws() {
		if !strings.Contains(text, "| `"+law+"` |") {
			t.Errorf("no row for the key law %s", law)
		}
	}
}
