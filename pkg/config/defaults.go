package config

import (
	"cmp"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The words for the key defaults.
const (
	DefaultsOwn      = "dbtester"
	DefaultsUpstream = "upstream"
)

// vary changes the database to the variant.
func (r *databaseResolver) vary() {
	v, spec := r.variant, r.spec
	if v.Version != "" || v.Binary != "" {
		spec.Version, spec.Binary, spec.Install = cmp.Or(v.Version, spec.Version), v.Binary, v.Install
	}
}

// defaults reads the options again over the release's defaults, if the file requests them.
func (r *databaseResolver) defaults() {
	spec, asked := r.spec, cmp.Or(r.spec.Defaults, r.file.defaults)
	spec.Defaults = ""
	if asked != DefaultsUpstream {
		return
	}
	options, known := spec.entry.New().(database.Upstream)
	if !known {
		if at := r.db.NodeOf("defaults"); at != nil {
			r.Errorf(at, "defaults: %s has no upstream defaults that are known", spec.Name)
		}
		return
	}
	spec.Defaults = DefaultsUpstream
	options.SetUpstream(database.PlainVersion(cmp.Or(spec.Version, spec.entry.Info.Embedded)))
	if node := r.db.NodeOf("options"); node != nil {
		// The first reading reported all problems.
		yamlfile.ReadOptions(yamlfile.New(""), "options", node, options)
	}
	spec.Options = options
}

// OptionTexts returns the options by their keys, as texts with units. A list has spaces
// between its items.
func (d *Database) OptionTexts() map[string]string {
	node, err := yamlfile.ShowOptions(d.Options)
	if err != nil || node == nil || !yamlfile.IsMapping(node) {
		return nil
	}
	texts := map[string]string{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		items := []string{value.Value}
		if yamlfile.IsList(value) {
			items = nil
			for _, item := range value.Content {
				items = append(items, item.Value)
			}
		}
		texts[node.Content[i].Value] = strings.Join(items, " ")
	}
	return texts
}
