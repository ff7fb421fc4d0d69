package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

func TestPlainVersion(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "v": "v", "3.6.16": "3.6.16", "v3.6.16": "3.6.16", "r3.5.3-beta": "3.5.3-beta", "vanilla": "vanilla", "rc1": "rc1", "vv1": "vv1",
	} {
		if got := database.PlainVersion(in); got != want {
			t.Errorf("PlainVersion(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCheckOldest(t *testing.T) {
	for _, tt := range []struct {
		version, oldest string
		old             bool
	}{
		{"3.4.0", "3.4.0", false}, {"3.4.0-rc.1", "3.4.0", false}, {"3.10.0", "3.4.0", false}, {"4.0.0", "3.4.0", false}, {"1.16.0+ent", "1.14.0", false},
		{"3.3.27", "3.4.0", true}, {"2.9.9", "3.4.0", true}, {"1.0.2", "1.14.0", true}, {"1.9.17-beta1", "1.14.0", true},
	} {
		err := database.CheckOldest("toy", tt.version, tt.oldest)
		if (err != nil) != tt.old {
			t.Errorf("%s against %s: %v", tt.version, tt.oldest, err)
		}
		if want := "toy " + tt.version + " is too old: dbtester runs toy from " + tt.oldest + " on"; err != nil && err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// plain is a driver without installation, installable one that knows version 1 and has
// no way to get version 2.
type plain struct{}

func (plain) Plan(database.Member) (database.Plan, error)                    { return database.Plan{}, nil }
func (plain) Ready(context.Context, database.Target, int) error              { return nil }
func (plain) Dial(context.Context, database.Target) (database.Client, error) { return nil, nil }

type installable struct{ plain }

func (installable) Recipes(version string) ([]recipe.Recipe, error) {
	switch version {
	case "1":
		return []recipe.Recipe{recipe.Local{Path: "/opt/toy", Files: map[string]string{"toy": ""}}}, nil
	case "2":
		return nil, nil
	}
	return nil, errors.New("toy " + version + " never was")
}

// A single file is the server with the database name, never another server in releases.
func TestRecipesFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine")
	if err := os.WriteFile(file, []byte("program"), 0o755); err != nil {
		t.Fatalf("write file: %v", err)
	}
	for _, tt := range []struct {
		name, where, version string
		tools                []string
		want                 string // want is in the error, or ""
	}{
		{"the server", file, "v1", []string{"toy"}, ""},
		{"the server behind a proxy", file, "1", []string{"proxy", "toy"}, `mine" is one file, which would pass for toy: a release of d holds only that`},
		{"a directory", dir, "1", []string{"proxy", "toy"}, ""},
		{"no version", file, "3", []string{"toy"}, "toy 3 never was"},
		{"nowhere", filepath.Join(dir, "nowhere"), "1", []string{"proxy", "toy"}, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := database.Database{Name: "d", Info: database.Info{Tools: tt.tools}, New: func() database.Driver { return installable{} }}
			recipes, err := db.RecipesFrom(tt.where, tt.version)
			switch {
			case tt.want == "" && (err != nil || len(recipes) != 1):
				t.Errorf("%v, %v", recipes, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRecipes(t *testing.T) {
	for _, tt := range []struct {
		driver        database.Driver
		version, want string // want is in the error, or ""
	}{
		{installable{}, "v1", ""},
		{installable{}, "2", "there is no recipe for toy 2"},
		{installable{}, "v3", "toy 3 never was"},
		{plain{}, "1", "toy 1 cannot be installed by dbtester"},
	} {
		db := database.Database{Name: "toy", New: func() database.Driver { return tt.driver }}
		recipes, err := db.Recipes(tt.version)
		switch {
		case tt.want == "" && (err != nil || len(recipes) != 1):
			t.Errorf("%q: %v, %v", tt.version, recipes, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: error %v, want %q", tt.version, err, tt.want)
		}
	}
}
