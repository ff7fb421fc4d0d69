package consul

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/databasetest"
	"github.com/coreos/dbtester/pkg/install"
)

func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database()))
}

// release returns the tools of a release, which is obtained if the cache has it
// not yet; a build takes minutes.
func release(t testing.TB, version string) map[string]string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	in := install.Installer{
		Cache:    filepath.Join(cache, "dbtester"),
		Progress: func(line string) { t.Log(line) },
	}
	if _, found := in.Find(Name, version); !found && testing.Short() {
		databasetest.Skip(t, "Consul "+version+" is not in the cache, and -short was asked for")
	}
	recipes, err := New().Recipes(version)
	if err != nil {
		t.Fatal(err)
	}
	r, err := in.Get(t.Context(), Name, version, recipes)
	if err != nil {
		t.Fatal(err)
	}
	return r.Files
}

func suite(t testing.TB) databasetest.Suite {
	return databasetest.Suite{
		Database: Database(),
		Addrs:    []string{"127.0.5.1", "127.0.5.2", "127.0.5.3"},
		Tools:    release(t, "1.16.0"),
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite(t)) }

func TestConformanceLean(t *testing.T) {
	s := suite(t)
	s.Options = "transport: lean"
	databasetest.Run(t, s)
}
