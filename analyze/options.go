package analyze

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// options are the driver's settings that ran, by name; those inside others are
// named OUTER.INNER.
func (c *column) options() map[string]string {
	var tree map[string]any
	if json.Unmarshal(c.run.Options, &tree) != nil {
		return nil // no options, or not a set of them
	}
	out := map[string]string{}
	flatten(out, "", tree)
	return out
}

func flatten(out map[string]string, prefix string, tree map[string]any) {
	for name, value := range tree {
		switch v := value.(type) {
		case nil:
		case map[string]any:
			flatten(out, prefix+name+".", v)
		case []any:
			var parts []string
			for _, p := range v {
				parts = append(parts, optionText(p))
			}
			out[prefix+name] = strings.Join(parts, " ")
		default:
			out[prefix+name] = optionText(v)
		}
	}
}

// optionText prints a setting; of a path only its last element, for a report may
// be shown where the machine it was made on is nobody's business.
func optionText(v any) string {
	switch v := v.(type) {
	case string:
		name, value, flag := strings.Cut(v, "=")
		switch {
		case filepath.IsAbs(v):
			return filepath.Base(v)
		case flag && filepath.IsAbs(value):
			return name + "=" + filepath.Base(value)
		}
		return v
	case float64:
		if v == float64(int64(v)) {
			return fmt.Sprint(int64(v))
		}
	}
	return fmt.Sprint(v)
}

// optionNames are the settings that any column has, in order.
func optionNames(columns []*column) []string {
	names := map[string]bool{}
	for _, c := range columns {
		for name := range c.options() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
