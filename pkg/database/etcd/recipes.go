package etcd

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
)

// release holds VERSION/go.mod.txt and go.sum.txt for every version whose build
// from source was tried.
//
//go:embed release
var release embed.FS

// validVersion is a version of etcd in full; "3.6" would name no release.
var validVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// serverModule is the module whose main package upstream's etcd is. Up to 3.4 there
// was one for all of etcd; its path has no /v3, so that the recipe's go.mod names a
// release as incompatible and replaces it by the commit of its tag.
func serverModule(version string) string {
	if strings.HasPrefix(version, "3.4.") {
		return "go.etcd.io/etcd"
	}
	return "go.etcd.io/etcd/server/v3"
}

// oldestRelease is the first whose server knows the arguments of a plan.
const oldestRelease = "3.4.0"

// Recipes returns upstream's release archive, and for the versions that were
// tried a build of the same version from the Go modules.
func (o *Options) Recipes(version string) ([]install.Recipe, error) {
	if !validVersion.MatchString(version) {
		return nil, fmt.Errorf("etcd has no release %q: want one such as 3.6.16 (built from source: %s)", version, strings.Join(built(), ", "))
	}
	if err := database.CheckOldest(Name, version, oldestRelease); err != nil {
		return nil, err
	}
	recipes := []install.Recipe{archive()}
	build, err := goBuild(version)
	switch {
	case err == nil:
		recipes = append(recipes, build)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the modules of etcd %s: %w", version, err)
	}
	return recipes, nil
}

// archive is what upstream publishes beside each release.
func archive() install.Archive {
	const base = "https://github.com/etcd-io/etcd/releases/download/v{version}/"
	return install.Archive{
		About:       install.About{Source: "https://github.com/etcd-io/etcd/releases", NotTried: true},
		URL:         base + "etcd-v{version}-{os}-{arch}.tar.gz",
		ChecksumURL: base + "SHA256SUMS",
		TopFolder:   "etcd-v{version}-{os}-{arch}",
		Files:       map[string]string{Name: "etcd"},
	}
}

// goBuild builds the main package of the server's module, from a module that
// requires it: the server's own go.mod replaces modules, which "go install"
// refuses.
func goBuild(version string) (install.GoBuild, error) {
	mod, err := release.ReadFile(path.Join("release", version, "go.mod.txt"))
	if err != nil {
		return install.GoBuild{}, err
	}
	sum, err := release.ReadFile(path.Join("release", version, "go.sum.txt"))
	if err != nil {
		return install.GoBuild{}, err
	}
	module := serverModule(version)
	return install.GoBuild{
		About:    install.About{Source: "https://pkg.go.dev/" + module + "@v" + version},
		GoMod:    string(mod),
		GoSum:    string(sum),
		Packages: map[string]string{Name: module},
		Module:   module,
	}, nil
}

// built are the versions that can be built from source.
func built() []string {
	entries, err := release.ReadDir("release")
	if err != nil {
		panic(fmt.Sprintf("the embedded releases can't be listed: %v", err)) // only if they were not embedded
	}
	versions := make([]string, len(entries))
	for i, e := range entries {
		versions[i] = e.Name()
	}
	return versions
}
