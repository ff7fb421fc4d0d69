package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

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

// paths are the tools that were named, as absolute paths; a name without a slash is
// looked up in PATH. One that is not there, or that cannot be run, is an error now
// and not when a run has begun.
func (t *toolFlags) paths() (map[string]string, error) {
	paths := map[string]string{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.values)) {
		value := *t.values[name]
		if value == "" {
			continue
		}
		path, err := findTool(value)
		if err != nil {
			errs = append(errs, usageError{fmt.Errorf("--%s-exec: %w", name, err)})
		}
		paths[name] = path
	}
	return paths, errors.Join(errs...)
}

// findTool finds an executable, or a directory of files that one needs.
func findTool(value string) (string, error) {
	path, err := exec.LookPath(value)
	if err == nil {
		return filepath.Abs(path)
	}
	if info, statErr := os.Stat(value); statErr == nil && info.IsDir() {
		return filepath.Abs(value)
	}
	return "", err
}
