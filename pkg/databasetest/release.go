package databasetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
)

// Release returns the tools of a release from the user cache. The first call installs it with the
// driver recipes, which may take minutes and need the network. The test is skipped with -short or
// if the installation fails, but never with CI=true.
func Release(t testing.TB, db database.Database, version string) map[string]string {
	t.Helper()
	if testing.Short() && os.Getenv("CI") != "true" {
		t.Skipf("-short: needs %s %s", db.Name, version)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("find the cache folder: %v", err)
	}
	recipes, err := db.New().(database.Installer).Recipes(version)
	if err != nil {
		t.Fatalf("list the recipes: %v", err)
	}
	in := &install.Installer{
		Cache:    filepath.Join(cache, "dbtester"),
		Progress: func(line string) { t.Log(line) },
	}
	release, err := in.Get(t.Context(), db.Name, version, recipes)
	if err != nil {
		Skip(t, err.Error())
	}
	return release.Files
}
