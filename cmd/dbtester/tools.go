package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// toolFlags are --NAME-exec flags, one for each database tool.
type toolFlags struct {
	values map[string]*string
}

func (t *toolFlags) register(flags *pflag.FlagSet, r *database.Registry) {
	t.values = map[string]*string{}
	for _, d := range r.All() {
		for _, name := range d.Info.Tools {
			if t.values[name] == nil {
				t.values[name] = flags.String(name+"-exec", "", fmt.Sprintf("path of %s for %s (default: found by %s itself)", name, d.Name, d.Name))
			}
		}
	}
}

// paths returns the given tools as absolute paths; names without a slash are looked up in PATH. A
// missing or non-executable tool is an error now, not after a run has begun.
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

// findTool finds an executable, or a directory of files needed by one.
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

// useVersionHelp describes --use-version.
const useVersionHelp = "run a release other than the file's, as NAME=VERSION or ID=VERSION, such as consul=1.16.0 (repeatable)"

// useVersions makes databases run other releases than those in the experiment file. Reports state
// which version ran.
func useVersions(e *config.Experiment, registry *database.Registry, list []string) error {
	for _, text := range list {
		name, version, found := strings.Cut(text, "=")
		version = database.PlainVersion(strings.TrimSpace(version))
		if !found || name == "" || version == "" {
			return usageError{fmt.Errorf("--use-version must be NAME=VERSION, got %q", text)}
		}
		var known []string
		matched := false
		for i := range e.Databases {
			db := &e.Databases[i]
			known = append(known, db.ID, db.Name)
			if db.ID != name && db.Name != name {
				continue
			}
			if matched = true; len(db.Endpoints) > 0 || !db.Steps.Start {
				return usageError{fmt.Errorf("--use-version %s: %s is a cluster that is already running", text, db.ID)}
			}
			if err := errors.Join(obtainable(registry, db.Name, version), snapshots(db, version)); err != nil {
				return usageError{fmt.Errorf("--use-version %s: %w", text, err)}
			}
			db.UseVersion = version
		}
		if !matched {
			return usageError{fmt.Errorf("--use-version %s: the file has no database %q%s", text, name, yamlfile.Hint(name, known))}
		}
	}
	return nil
}

// obtainable reports why a release cannot be obtained.
func obtainable(registry *database.Registry, name, version string) error {
	entry, err := registry.Get(name)
	if err != nil || version == entry.Info.Embedded {
		return err
	}
	_, err = entry.Recipes(version)
	return err
}

// snapshots returns why members that run the given version cannot make the snapshots in the file.
func snapshots(db *config.Database, version string) error {
	d := &ability.Database{Version: version, Options: db.Options, Secret: db.TLS != nil && db.Auth != nil}
	if err := upkeep.CheckSnapshots(upkeep.Keys().Of(db.Abilities), d); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// cacheDir returns the release directory: named, or the user's.
func cacheDir(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache (name one with --cache): %w", err)
	}
	return filepath.Join(dir, "dbtester"), nil
}

func registerCache(flags *pflag.FlagSet, cache *string, usage string) {
	flags.StringVar(cache, "cache", "", usage+" (default: dbtester in the user's cache directory)")
}
