package database

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/install"
)

// Installer is a driver whose releases dbtester can obtain. Recipes returns the
// ways to get a version (without a leading "v", see [PlainVersion]), in the order
// in which they are tried; a version that cannot be had at all is an error. It
// reaches for no network: a recipe that is returned can still fail.
type Installer interface {
	Recipes(version string) ([]install.Recipe, error)
}

// Recipes returns the ways to get a version of the database, and why there are
// none if it cannot be had.
func (d Database) Recipes(version string) ([]install.Recipe, error) {
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

// PlainVersion returns a version as releases are named: without the "v", or in
// classic files "r", that people write before its first digit.
func PlainVersion(version string) string {
	if len(version) > 1 && (version[0] == 'v' || version[0] == 'r') && '0' <= version[1] && version[1] <= '9' {
		return version[1:]
	}
	return version
}
