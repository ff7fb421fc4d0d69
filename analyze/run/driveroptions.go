package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Options returns the driver settings by name. Nested settings are named OUTER.INNER.
func (i *Info) Options() map[string]string {
	if i.Record.OptionTexts != nil {
		out := map[string]string{}
		for name, text := range i.Record.OptionTexts {
			words := strings.Split(text, " ")
			for n := range words {
				words[n] = optionText(words[n])
			}
			out[name] = strings.Join(words, " ")
		}
		return out
	}
	var tree map[string]any
	if json.Unmarshal(i.Record.Options, &tree) != nil {
		return nil // options are absent or not a mapping
	}
	out := map[string]string{}
	flatten(out, "", tree)
	return out
}

// OptionTransport is the setting that selects the client implementation.
const OptionTransport = "transport"

// Transport returns the client implementation, or "" if the database has only one or the records do
// not name it.
func (i *Info) Transport() string {
	options := i.Options()
	return cmp.Or(options[OptionTransport], options["Transport"]) // older manifests use Go field names
}

// Settings describes the settings that differ from the defaults of the release; "" if they were not
// recorded.
func (i *Info) Settings() string {
	s := i.Record.Settings
	if s == nil {
		return ""
	}
	if len(s.Changed) == 0 {
		return "none differs from the release's defaults"
	}
	var parts []string
	for _, one := range s.Changed {
		one.Value = optionText(one.Value)
		parts = append(parts, one.String())
	}
	return strings.Join(parts, ", ")
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

// optionText formats a setting. Paths are cut to their last element, because a published report
// must not name folders on the machine.
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

// OptionNames returns the sorted names of settings in any run.
func OptionNames(runs []*Run) []string {
	names := map[string]bool{}
	for _, r := range runs {
		for name := range r.Info.Options() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
