package database

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// Installer is a driver whose releases dbtester can obtain. Recipes returns the
// ways to get a version (without a leading "v", see [PlainVersion]), in the order to try them, or
// an error if no way exists. It does not use the network, so a returned recipe can still fail.
type Installer interface {
	Recipes(version string) ([]recipe.Recipe, error)
}

// SourceBuilder is a driver whose server dbtester can build from a source checkout. FromSource
// reads no file: a folder with another source fails to build later.
type SourceBuilder interface {
	FromSource(dir string) recipe.Checkout
}

// FromSource returns the recipe that builds the server from the checkout in dir.
func (d Database) FromSource(dir string) (recipe.Checkout, error) {
	driver, ok := d.New().(SourceBuilder)
	if !ok {
		return recipe.Checkout{}, fmt.Errorf("dbtester must know how to build %s from source, and does not", d.Name)
	}
	return driver.FromSource(dir), nil
}

// Recipes returns the ways to get a version of the database, or an error that states why no way
// exists.
func (d Database) Recipes(version string) ([]recipe.Recipe, error) {
	driver, ok := d.New().(Installer)
	if !ok {
		return nil, fmt.Errorf("%s %s cannot be installed by dbtester", d.Name, version)
	}
	recipes, err := driver.Recipes(PlainVersion(version))
	if err == nil && len(recipes) == 0 {
		err = fmt.Errorf("there is no recipe for %s %s", d.Name, version)
	}
	return recipes, err
}

// ReleaseTools names the tools in the release of a version, in order; nil if no release can be
// obtained.
func (d Database) ReleaseTools(version string) []string {
	recipes, _ := d.Recipes(version) // Get reports the error when the release is installed
	own, _ := recipe.Tools(recipes)
	return own
}

// RecipesFrom returns the ways to get a version from the place where; see
// [recipe.From]. A single file must be the server itself: it is refused where releases contain
// another one, such as the server behind a proxy.
func (d Database) RecipesFrom(where, version string) ([]recipe.Recipe, error) {
	recipes, err := d.Recipes(version)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(where) // From reports the error
	tools, _ := recipe.Tools(recipes)
	if err == nil && !info.IsDir() && len(d.Info.Tools) > 0 && !slices.Contains(tools, d.Info.Tools[0]) {
		return nil, fmt.Errorf("%q is one file, which would pass for %s: a release of %s holds only that. "+
			"Give a directory that holds %[2]s by this name; an executable of %[4]s itself is for an agent's flag --%[4]s-exec",
			where, strings.Join(tools, " and "), d.Name, d.Info.Tools[0])
	}
	return recipe.From(where, recipes)
}

// TooOldError is the error for a version before Oldest, the first version that a driver's plans
// support.
type TooOldError struct{ Name, Version, Oldest string }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s %s is too old: dbtester runs %[1]s from %[3]s on", e.Name, e.Version, e.Oldest)
}

// CheckOldest returns a [*TooOldError] for a version whose three numbers come before those
// of oldest. Both are plain and complete, such as "3.4.0" or "3.7.0-rc.1".
func CheckOldest(name, version, oldest string) error {
	if slices.Compare(numbers(version), numbers(oldest)) < 0 {
		return &TooOldError{name, version, oldest}
	}
	return nil
}

// numbers returns the dotted numbers at the start of a plain version.
func numbers(version string) []int {
	if end := strings.IndexAny(version, "-+"); end >= 0 {
		version = version[:end]
	}
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list
}

// PlainVersion returns a version as releases are named: without a leading "v" or, in
// classic files, "r".
func PlainVersion(version string) string {
	if len(version) > 1 && (version[0] == 'v' || version[0] == 'r') && '0' <= version[1] && version[1] <= '9' {
		return version[1:]
	}
	return version
}
