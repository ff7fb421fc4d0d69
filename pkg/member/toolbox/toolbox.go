// Package toolbox decides which executables a member runs. Agents and dry runs both use it, so that
// a dry run shows the choice of agents.
package toolbox

import (
	"errors"
	"fmt"
	"maps"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
)

// Origin is where the server of a member comes from.
type Origin int

const (
	// Unversioned means that no release is requested: the member runs the given tools, or the
	// server in this binary.
	Unversioned Origin = iota
	// Given means that the server is one of the given executables. They take precedence over a
	// release, which is then not looked up.
	Given
	// Cached means that the release is in the cache.
	Cached
	// BuiltIn means that the server in this binary has the requested version.
	BuiltIn
	// Absent means that the release must be installed first.
	Absent
)

// Want describes the executables a member needs.
type Want struct {
	Database database.Database
	// Version is the release, with or without a leading "v"; "" requests no release.
	Version string
	// Binary replaces the executable of the database's first tool; "" keeps it.
	Binary string
	// Install means that the release is to be installed even if the server in this binary has its
	// version.
	Install bool
}

// Choice holds the executables of a member.
type Choice struct {
	Origin Origin
	// Version is the release without a leading "v".
	Version string
	// Given are the given executables the database can use, by tool. They take precedence over
	// those of a release.
	Given map[string]string
	// Release is the cached release if Origin is Cached.
	Release install.Release
}

// Choose applies the rules: given executables first, then the cached release, then the server in
// this binary. given maps tools to executables. find searches the cache and returns
// [install.ErrAbsent] for a missing release.
func Choose(w Want, given map[string]string, find func(name, version string) (install.Release, error)) (Choice, error) {
	c := Choice{Version: database.PlainVersion(w.Version), Given: usable(w, given)}
	tools := w.Database.Info.Tools
	switch {
	case len(tools) > 0 && c.Given[tools[0]] != "":
		c.Origin = Given
		return c, nil
	case w.Version == "":
		return c, nil
	}
	r, err := find(w.Database.Name, c.Version)
	switch {
	case err == nil && len(tools) > 0 && r.Files[tools[0]] == "":
		// Without its executable, the server in this binary would run instead.
		return Choice{}, fmt.Errorf("the release %s %s in the cache must have %s, got none (remove %s and install it again)", w.Database.Name, c.Version, tools[0], r.Dir)
	case err == nil:
		c.Origin, c.Release = Cached, r
	case !errors.Is(err, install.ErrAbsent):
		return Choice{}, err
	case c.Version == w.Database.Info.Embedded && !w.Install:
		c.Origin = BuiltIn
	default:
		c.Origin = Absent
	}
	return c, nil
}

// Paths returns the executables by tool: those in released, overridden by the given ones.
func (c Choice) Paths(released map[string]string) map[string]string {
	paths := map[string]string{}
	maps.Copy(paths, released)
	maps.Copy(paths, c.Given)
	return paths
}

// usable returns the given executables a database can use, with the first one replaced by the
// binary.
func usable(w Want, given map[string]string) map[string]string {
	tools := map[string]string{}
	for _, name := range w.Database.Info.Tools {
		if path := given[name]; path != "" {
			tools[name] = path
		}
	}
	if w.Binary != "" && len(w.Database.Info.Tools) > 0 {
		tools[w.Database.Info.Tools[0]] = w.Binary
	}
	return tools
}
