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
// ways to get a version (without a leading "v", see [PlainVersion]), in the order
// in which they are tried; a version that cannot be had at all is an error. It
// reaches for no network: a recipe that is returned can still fail.
type Installer interface {
	Recipes(version string) ([]recipe.Recipe, error)
}

// SourceBuilder is a driver whose server dbtester can build from a checkout of its
// source. FromSource reads nothing: a folder that holds another source fails to build.
type SourceBuilder interface {
	FromSource(dir string) recipe.Checkout
}

// FromSource returns how the database's server is built from the checkout in dir.
func (d Database) FromSource(dir string) (recipe.Checkout, error) {
	driver, ok := d.New().(SourceBuilder)
	if !ok {
		return recipe.Checkout{}, fmt.Errorf("dbtester must know how to build %s from source, and does not", d.Name)
	}
	return driver.FromSource(dir), nil
}

// Recipes returns the ways to get a version of the database, and why there are
// none if it cannot be had.
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

// ReleaseTools returns the names of the tools that a release of that version has
// of its own, in order; nil if it cannot be had.
func (d Database) ReleaseTools(version string) []string {
	recipes, _ := d.Recipes(version) // Get reports the error when the release is installed
	own, _ := recipe.Tools(recipes)
	return own
}

// RecipesFrom returns the ways to get a version from the place where; see
// [recipe.From]. One file is the database's own server: where releases hold
// another one, such as that behind a proxy, it is refused.
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

// TooOldError is the error of a version that comes before the first one, Oldest, that a
// driver's plans are for.
type TooOldError struct{ Name, Version, Oldest string }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s %s is too old: dbtester runs %[1]s from %[3]s on", e.Name, e.Version, e.Oldest)
}

// CheckOldest returns a [*TooOldError] for a version whose three numbers come before those
// of oldest. Both are plain and in full, such as "3.4.0" or "3.7.0-rc.1".
func CheckOldest(name, version, oldest string) error {
	if slices.Compare(numbers(version), numbers(oldest)) < 0 {
		return &TooOldError{name, version, oldest}
	}
	return nil
}

// numbers are the dotted numbers that a plain version begins with.
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

// PlainVersion returns a version as releases are named: without the "v", or in
// classic files "r", that people write before its first digit.
func PlainVersion(version string) string {
	if len(version) > 1 && (version[0] == 'v' || version[0] == 'r') && '0' <= version[1] && version[1] <= '9' {
		return version[1:]
	}
	return version
}
