package etcd

import (
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

func TestRecipes(t *testing.T) {
	for _, tt := range []struct {
		version string
		kinds   []string // nil for a version that cannot be had
	}{
		{"3.6.16", []string{"archive", "go build"}},
		{"3.5.35", []string{"archive", "go build"}},
		{"3.7.3", []string{"archive", "go build"}},
		{oldest, []string{"archive", "go build"}},
		{"3.4.0", []string{"archive"}},
		{"3.10.0", []string{"archive"}},
		{"3.7.0-rc.1", []string{"archive"}},
		{"3.6", nil},
		{"latest", nil},
		{"../3.6.16", nil},
		{"3.6.16/..", nil},
		{"", nil},
	} {
		recipes, err := New().Recipes(tt.version)
		var kinds []string
		for _, r := range recipes {
			kinds = append(kinds, r.Kind())
		}
		if !slices.Equal(kinds, tt.kinds) || (err == nil) != (tt.kinds != nil) {
			t.Errorf("%q: %v, %v, want %v", tt.version, kinds, err, tt.kinds)
		}
		if err != nil && !strings.Contains(err.Error(), "3.4.13, 3.5.35, 3.6.16, 3.7.3") {
			t.Errorf("%q: %v does not say what there is", tt.version, err)
		}
	}
}

// Each module in release/ requires the version its folder names, and no other etcd modules.
func TestReleaseModules(t *testing.T) {
	versions := built()
	if len(versions) == 0 {
		t.Fatal("no release is embedded")
	}
	for _, v := range versions {
		build, err := goBuild(v)
		if err != nil {
			t.Fatalf("find the recipe of the build: %v", err)
		}
		if strings.HasPrefix(v, "3.4.") {
			release := "go.etcd.io/etcd v" + v + "+incompatible"
			if !strings.Contains(build.GoMod, "require "+release) || !strings.Contains(build.GoMod, "replace "+release+" => go.etcd.io/etcd v0.") {
				t.Errorf("%s: its go.mod has no %s that is a commit", v, release)
			}
			continue
		}
		seen := 0
		for line := range strings.Lines(build.GoMod) {
			fields := strings.Fields(line)
			if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "go.etcd.io/etcd/") }); i >= 0 && i+1 < len(fields) {
				seen++
				if got := fields[i+1]; got != "v"+v && !strings.HasPrefix(fields[i], "go.etcd.io/etcd/client/v2") {
					t.Errorf("%s requires %s %s", v, fields[i], got)
				}
			}
		}
		if seen == 0 || !strings.Contains(build.GoSum, serverModule(v)+" v"+v+" h1:") {
			t.Errorf("%s: %d modules of etcd are required, and go.sum has no server of it", v, seen)
		}
	}
}

func TestArchive(t *testing.T) {
	a := archive()
	for _, url := range []string{a.URL, a.ChecksumURL} {
		if !strings.HasPrefix(url, "https://github.com/etcd-io/etcd/releases/download/v{version}/") {
			t.Errorf("%s is not where upstream publishes", url)
		}
	}
	if !a.NotTried || a.Source == "" {
		t.Errorf("an archive that was never fetched must say so, and where it is documented: %+v", a.About)
	}
	var _ recipe.Recipe = a
}

func TestEmbeddedVersion(t *testing.T) {
	if got := Database().Info.Embedded; got != version.Version {
		t.Errorf("the embedded server is %s, the registry says %s", version.Version, got)
	}
}
