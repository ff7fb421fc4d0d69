package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestSchema checks files by the JSON Schema: it accepts every example and refuses
// misspelled keys and values of a wrong type.
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
		if wrong := violations(s, fromYAML(t, text), name); len(wrong) > 0 && !usesOtherOptions(wrong) {
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
		if got := violations(s, fromYAML(t, text), "f"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// usesOtherOptions reports whether all problems are options that drivers have and
// the catalog of this package's tests does not.
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

// violations checks a value by the parts of JSON Schema that this package uses.
func violations(s map[string]any, v any, path string) []string {
	if some, ok := s["anyOf"].([]any); ok {
		for _, one := range some {
			if violations(one.(map[string]any), v, path) == nil {
				return nil
			}
		}
		return []string{fmt.Sprintf("%s: no alternative fits %v", path, v)}
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return []string{fmt.Sprintf("%s: %v is not in the list", path, v)}
	}
	if s["type"] != nil && !hasType(s["type"], v) {
		return []string{fmt.Sprintf("%s: %v is not %v", path, v, s["type"])}
	}
	if c, ok := s["const"]; ok && fmt.Sprint(c) != fmt.Sprint(v) {
		return []string{fmt.Sprintf("%s: %v is not %v", path, v, c)}
	}
	switch v := v.(type) {
	case string:
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return []string{fmt.Sprintf("%s: %s does not match %s", path, v, p)}
		}
	case int:
		if least, ok := s["minimum"].(float64); ok && float64(v) < least {
			return []string{fmt.Sprintf("%s: %d is too small", path, v)}
		}
		if largest, ok := s["maximum"].(float64); ok && float64(v) > largest {
			return []string{fmt.Sprintf("%s: %d is too large", path, v)}
		}
	case []any:
		var all []string
		for i, item := range v {
			if items, ok := s["items"].(map[string]any); ok {
				all = append(all, violations(items, item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
		return all
	case map[string]any:
		return mappingViolations(s, v, path)
	}
	return nil
}

func mappingViolations(s map[string]any, v map[string]any, path string) []string {
	var all []string
	for key, value := range v {
		if names, ok := s["propertyNames"].(map[string]any); ok {
			all = append(all, violations(names, key, path)...)
			continue
		}
		sub := propertySchema(s, key)
		if sub == nil && s["additionalProperties"] == false {
			all = append(all, path+"."+key+": unknown key")
		}
		if sub != nil {
			all = append(all, violations(sub, value, path+"."+key)...)
		}
	}
	return all
}

func propertySchema(s map[string]any, key string) map[string]any {
	if properties, ok := s["properties"].(map[string]any); ok && properties[key] != nil {
		return properties[key].(map[string]any)
	}
	if patterns, ok := s["patternProperties"].(map[string]any); ok {
		for p, sub := range patterns {
			if regexp.MustCompile(p).MatchString(key) {
				return sub.(map[string]any)
			}
		}
	}
	sub, _ := s["additionalProperties"].(map[string]any)
	return sub
}

func hasType(types, v any) bool {
	list, ok := types.([]any)
	if !ok {
		list = []any{types}
	}
	f, isFloat := v.(float64)
	_, isInt := v.(int)
	_, isText := v.(string)
	_, isBool := v.(bool)
	_, isList := v.([]any)
	_, isMapping := v.(map[string]any)
	for _, one := range list {
		switch {
		case one == "null" && v == nil, one == "string" && isText, one == "boolean" && isBool,
			one == "integer" && (isInt || isFloat && f == math.Trunc(f)), one == "number" && (isInt || isFloat),
			one == "array" && isList, one == "object" && isMapping:
			return true
		}
	}
	return false
}
