package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/yamlfile/schematest"
)

// TestSchema checks files by the JSON Schema: it accepts every example and refuses misspelled keys
// and values of a wrong type.
func TestSchema(t *testing.T) {
	data, err := Schema(testCatalog())
	if err != nil {
		t.Fatalf("make the schema: %v", err)
	}
	var s map[string]any
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("the schema must be JSON: %v", err)
	}
	good := map[string]string{"full": fullFile, "mixed": mixedFile, "secure": secureFile, "starter": string(Starter(testCatalog()))}
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read the file: %v", err)
		}
		if strings.HasPrefix(filepath.Base(file), "classic-") {
			continue
		}
		e, _, err := Parse(file, text, testCatalog())
		if err != nil {
			t.Fatalf("parse the experiment: %v", err)
		}
		shown, err := Show(e)
		if err != nil {
			t.Fatalf("show the experiment: %v", err)
		}
		good[file], good["shown "+file] = string(text), string(shown)
	}
	for name, text := range good {
		if wrong := schematest.Violations(s, fromYAML(t, text), name); len(wrong) > 0 && !usesOtherOptions(wrong) {
			t.Errorf("the schema refuses a good file:\n%s", strings.Join(wrong, "\n"))
		}
	}
	for text, want := range map[string]string{
		"load: {cliens: 3}":                          "f.load.cliens: unknown key",
		"load: {clients: many}":                      "f.load.clients: no alternative fits many",
		"load: {operation: wriet}":                   "f.load.operation: wriet is not in the list",
		"load: {timeout: 5}":                         "f.load.timeout: no alternative fits 5",
		"load: {steps: [{clients: 1, rte: 2}]}":      "f.load.steps[0].rte: unknown key",
		"load: {mix: {raed: 1}}":                     "f.load.mix: raed is not in the list",
		"databases: {ectd: {}}":                      "f.databases.ectd: unknown key",
		"databases: {etcd: {options: {snap: 1}}}":    "f.databases.etcd.options.snap: unknown key",
		"auth: {password: secret}":                   "f.auth.password: unknown key",
		"hosts: [{addr: a, ports: {client: 99999}}]": "f.hosts[0]: no alternative fits map[addr:a ports:map[client:99999]]",
	} {
		if got := schematest.Violations(s, fromYAML(t, text), "f"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// usesOtherOptions reports whether all problems are options that drivers have but this package's
// test catalog lacks.
func usesOtherOptions(wrong []string) bool {
	return !slices.ContainsFunc(wrong, func(w string) bool { return !strings.Contains(w, ".options.") })
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		t.Fatalf("load the YAML: %v", err)
	}
	return v
}
