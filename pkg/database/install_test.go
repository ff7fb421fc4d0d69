package database_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
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

// plain is a driver that nothing can install, installable one that knows version
// 1 and has no way to version 2.
type plain struct{}

func (plain) Plan(database.Member) (database.Plan, error)                    { return database.Plan{}, nil }
func (plain) Ready(context.Context, database.Target, int) error              { return nil }
func (plain) Dial(context.Context, database.Target) (database.Client, error) { return nil, nil }

type installable struct{ plain }

func (installable) Recipes(version string) ([]install.Recipe, error) {
	switch version {
	case "1":
		return []install.Recipe{install.Local{Path: "/opt/toy"}}, nil
	case "2":
		return nil, nil
	}
	return nil, errors.New("toy " + version + " never was")
}

func TestRecipes(t *testing.T) {
	for _, tt := range []struct {
		driver        database.Driver
		version, want string // want is part of the error, "" for none
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
