package experiment_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/tools/experiment"
)

// program writes a record for each tag in the experiment, prints its arguments, and exits with the
// code in the first experiment line.
const program = `#!/bin/sh
echo "$@"
read -r code <"$4"
for tag in $(tail -n +2 "$4"); do
	mkdir -p "$6/title/run/$tag" && echo "$tag" >"$6/title/run/$tag/turns.csv"
done
exit "$code"
`

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, problem string }{
		{"a run", "0\nit\n", ""},
		{"a marked run", "3\nit\n", ""},
		{"a failed run", "1\nit\n", "exit status 1: control --local --config"},
		{"no record", "0\n", "the run must have one */turns.csv, got 0: control"},
		{"two records", "0\nit that\n", "the run must have one */turns.csv, got 2: control"},
	} {
		got, err := experiment.Run(t.Context(), path, filepath.Join(t.TempDir(), "run"), c.text, "*/turns.csv", "--disk", "loop:1MiB")
		if c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), "--quiet --disk loop:1MiB") {
				t.Errorf("%s: %v, want %q and the output of the program", c.name, err, c.problem)
			}
			continue
		}
		if text, read := os.ReadFile(got); err != nil || read != nil || string(text) != "it\n" {
			t.Errorf("%s: record %q with %q (%v), %v", c.name, got, text, read, err)
		}
	}
}

// An event is awaited in the results for all databases, until the context ends.
func TestAwait(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(experiment.Results(dir), "title", "run", "etcd", "events.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"time":"2026-01-01T00:00:04Z","kind":"load start"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !experiment.Await(t.Context(), dir, "load start") {
		t.Error("the event did not come that there is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if experiment.Await(ctx, dir, "none") {
		t.Error("an event came that there is not")
	}
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	read := func(text string) ([]map[string]string, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return experiment.Table(path)
	}
	rows, err := read("kind,repeat\nkill,1\npause,2\n")
	if err != nil || len(rows) != 2 || rows[0]["kind"] != "kill" || rows[1]["repeat"] != "2" || rows[1]["other"] != "" {
		t.Errorf("rows %v, %v", rows, err)
	}
	for text, problem := range map[string]string{"": "it has no header", "kind,repeat\nkill\n": "wrong number of fields"} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), problem) {
			t.Errorf("a table of %q: %v, want %q", text, err, problem)
		}
	}
}
