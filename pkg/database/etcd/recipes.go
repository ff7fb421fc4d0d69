package etcd

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

var _ database.SourceBuilder = (*Server)(nil)

// release holds VERSION/go.mod.txt and go.sum.txt for every version whose build from source was
// tested.
//
//go:embed release
var release embed.FS

// validVersion matches a full version of etcd; "3.6" is not a release.
var validVersion = pattern.New(`^[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$`)

// serverModule returns the module with the upstream main package. Up to 3.4 all of etcd was one
// module without /v3 in its path. The go.mod in the recipe therefore requires the release as
// incompatible and replaces it with the commit of its tag.
func serverModule(version string) string {
	if strings.HasPrefix(version, "3.4.") {
		return "go.etcd.io/etcd"
	}
	return "go.etcd.io/etcd/server/v3"
}

// oldestRelease is the first release that accepts the arguments of a plan.
const oldestRelease = "3.4.0"

// Recipes returns the upstream release archive and, for versions whose build was tested, a build
// from Go modules.
func (s *Server) Recipes(version string) ([]recipe.Recipe, error) {
	if !validVersion().MatchString(version) {
		return nil, fmt.Errorf("the version of etcd must be one such as 3.6.16, got %q (built from source: %s)", version, strings.Join(built(), ", "))
	}
	if err := database.CheckOldest(Name, version, oldestRelease); err != nil {
		return nil, err
	}
	recipes := []recipe.Recipe{archive()}
	build, err := goBuild(version)
	switch {
	case err == nil:
		recipes = append(recipes, build)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the modules of etcd %s: %w", version, err)
	}
	return recipes, nil
}

// archive returns the recipe for the upstream release archive.
func archive() recipe.Archive {
	const base = "https://github.com/etcd-io/etcd/releases/download/v{version}/"
	return recipe.Archive{
		About:       recipe.About{Source: "https://github.com/etcd-io/etcd/releases", NotTried: true},
		URL:         base + "etcd-v{version}-{os}-{arch}.tar.gz",
		ChecksumURL: base + "SHA256SUMS",
		TopFolder:   "etcd-v{version}-{os}-{arch}",
		Files:       map[string]string{Name: "etcd"},
	}
}

// goBuild returns the recipe that builds the server's main package from a module that requires it:
// the server's go.mod replaces modules, which "go install" refuses.
func goBuild(version string) (recipe.GoBuild, error) {
	mod, err := release.ReadFile(path.Join("release", version, "go.mod.txt"))
	if err != nil {
		return recipe.GoBuild{}, err
	}
	sum, err := release.ReadFile(path.Join("release", version, "go.sum.txt"))
	if err != nil {
		return recipe.GoBuild{}, err
	}
	module := serverModule(version)
	return recipe.GoBuild{
		About:    recipe.About{Source: "https://pkg.go.dev/" + module + "@v" + version},
		GoMod:    string(mod),
		GoSum:    string(sum),
		Packages: map[string]string{Name: module},
		Module:   module,
	}, nil
}

// FromSource builds the server module in a checkout, which etcd has since 3.5.
func (s *Server) FromSource(dir string) recipe.Checkout {
	return recipe.Checkout{Dir: dir, Module: "server", Package: ".", Tool: Name, CommitName: "go.etcd.io/etcd/api/v3/version.GitSHA"}
}

// built returns the versions that can be built from source.
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
