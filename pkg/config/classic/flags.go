package classic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// flags decodes database flags into the options whose classic tags name these keys. 0 and "" keep
// the default, as in the classic tool.
func flags(r *yamlfile.Reader, what string, node *yamlfile.Node, v any) {
	options := yamlfile.Options(v)
	var names []string
	for _, o := range options {
		names = append(names, keysOf(o)...)
	}
	section := r.Pairs(what, node)
	byKey := map[string]yamlfile.Pair{}
	for _, p := range section {
		byKey[p.Key.Value] = p
		if !slices.Contains(names, p.Key.Value) {
			hinted := ""
			if near := yamlfile.Nearest(p.Key.Value, names); near != "" {
				hinted = fmt.Sprintf(" (did you mean %q?)", near)
			}
			r.Warnf(p.Key, "%s: %q is ignored: this database has no such option%s", what, p.Key.Value, hinted)
		}
	}
	for _, o := range options {
		for i, name := range keysOf(o) {
			p, ok := byKey[name]
			if !ok || p.Value.Value == "0" || p.Value.Value == "" && !yamlfile.IsMapping(p.Value) && !yamlfile.IsList(p.Value) {
				continue
			}
			o.Read(r, name, p.Value)
			for _, other := range keysOf(o)[i+1:] {
				if second, ok := byKey[other]; ok {
					r.Warnf(second.Key, "%s: %q is ignored: %q sets the same option", what, other, name)
				}
			}
			break
		}
	}
}

// keysOf returns the keys that mean an option in classic files, the preferred one first.
func keysOf(o yamlfile.Option) []string {
	tag := o.Tag.Get("classic")
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}
