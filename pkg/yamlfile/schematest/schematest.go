// Package schematest validates values against JSON Schemas in tests. It supports only the parts of
// JSON Schema that package yamlfile uses.
package schematest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Violations validates a value, as decoded by the YAML package, against a schema, as decoded by the
// JSON package, and returns one line per violation. path names the value.
func Violations(s map[string]any, v any, path string) []string {
	if some, ok := s["anyOf"].([]any); ok {
		for _, one := range some {
			if Violations(one.(map[string]any), v, path) == nil {
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
				all = append(all, Violations(items, item, fmt.Sprintf("%s[%d]", path, i))...)
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
			all = append(all, Violations(names, key, path)...)
			continue
		}
		sub := propertySchema(s, key)
		if sub == nil && s["additionalProperties"] == false {
			all = append(all, path+"."+key+": unknown key")
		}
		if sub != nil {
			all = append(all, Violations(sub, value, path+"."+key)...)
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
