package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/yamlfile/schematest"
)

// TestExperimentSchema: the published schema for experiment files equals the output of dbtester
// config schema, with every database's options, and all our experiments obey it.
func TestExperimentSchema(t *testing.T) {
	t.Parallel()
	code, printed, errs := program(t, "config", "schema")
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	path := filepath.Join("..", "..", "docs", "experiment.schema.json")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed, string(published)); diff != "" {
		t.Errorf("%s is not what the program prints, write it with -update (-program +published):\n%s", path, diff)
	}
	var schema map[string]any
	if err := json.Unmarshal(published, &schema); err != nil {
		t.Fatalf("the schema must be JSON: %v", err)
	}
	checked := 0
	for _, file := range experiments(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\ntest_title:") { // the schema describes the compact form only
			continue
		}
		checked++
		if wrong := schemaViolations(t, schema, string(text), filepath.Base(file)); len(wrong) > 0 {
			t.Errorf("the schema refuses a good file:\n%s", strings.Join(wrong, "\n"))
		}
	}
	if checked < 40 {
		t.Errorf("only %d experiments were checked: the test looks in the wrong place", checked)
	}
	for text, want := range map[string]string{
		"databases: {etcd: {options: {snapshots: 1}}}": "f.databases.etcd.options.snapshots: unknown key",
		"databases: {zookeper: {}}":                    "f.databases.zookeper: unknown key",
		"load: {cliens: 1}":                            "f.load.cliens: unknown key",
	} {
		if got := strings.Join(schemaViolations(t, schema, text, "f"), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// experiments are the experiment files in this tree.
func experiments(t *testing.T) []string {
	t.Helper()
	list := []string{"quickstart.yaml"}
	for _, pattern := range []string{"test-configs/*.yaml", "test-results/*/experiment.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files...)
	}
	return list
}

// schemaViolations checks text by a schema.
func schemaViolations(t *testing.T, schema map[string]any, text, name string) []string {
	t.Helper()
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return schematest.Violations(schema, v, name)
}
