package config

import (
	"cmp"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// options reports every option that the database would refuse, at its place.
func (r *databaseResolver) options() {
	for _, err := range yamlfile.Joined(database.CheckOptions(r.spec.Options)) {
		r.Errorf(r.optionAt(err.Error()), "options of %s: %v", r.spec.ID, err)
	}
}

// optionAt returns the node for the option that a message concerns: the one whose key begins the
// message, else the flag that it quotes, else the options.
func (r *databaseResolver) optionAt(message string) *yamlfile.Node {
	options := r.db.NodeOf("options")
	at := cmp.Or(options, r.spec.id)
	if options == nil || !yamlfile.IsMapping(options) {
		return at
	}
	name, _, _ := strings.Cut(message, " ")
	for i := 0; i+1 < len(options.Content); i += 2 {
		key, value := options.Content[i], yamlfile.Follow(options.Content[i+1])
		switch {
		case key.Value == name:
			return value
		case key.Value == "flags" && name == "flag":
			return flagAt(value, message)
		}
	}
	return at
}

// flagAt returns the node for the flag that a message quotes, else the list of flags.
func flagAt(flags *yamlfile.Node, message string) *yamlfile.Node {
	for _, item := range flags.Content {
		if strings.Contains(message, yamlfile.Describe(item)) {
			return item
		}
	}
	return flags
}
