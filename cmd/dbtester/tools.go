package main

import (
	"fmt"
	"os/exec"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/database"
)

// toolFlags are --NAME-exec flags, one for each tool of each database.
type toolFlags struct {
	values map[string]*string
}

func (t *toolFlags) register(flags *pflag.FlagSet, r *database.Registry) {
	t.values = map[string]*string{}
	for _, d := range r.All() {
		for _, name := range d.Info.Tools {
			if t.values[name] == nil {
				t.values[name] = flags.String(name+"-exec", "", fmt.Sprintf("path of %s for %s (default: what %s finds by itself)", name, d.Name, d.Name))
			}
		}
	}
}

// paths are the tools that were named; a name without a slash is looked up in
// PATH.
func (t *toolFlags) paths() map[string]string {
	paths := map[string]string{}
	for name, value := range t.values {
		if *value == "" {
			continue
		}
		paths[name] = *value
		if found, err := exec.LookPath(*value); err == nil {
			paths[name] = found
		}
	}
	return paths
}
