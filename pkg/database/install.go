package database

import "github.com/coreos/dbtester/pkg/install"

// Installer is a driver whose releases dbtester can obtain. Recipes returns the
// ways to get a version, in the order in which they are tried; a version that
// cannot be had at all is an error.
type Installer interface {
	Recipes(version string) ([]install.Recipe, error)
}
