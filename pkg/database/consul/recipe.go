package consul

import (
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

// releases holds go.mod and go.sum for every version that can be built from Go modules. (A file
// named go.mod cannot be embedded.)
//
//go:embed release
var releases embed.FS

// oldestRelease is the first release that accepts the ports of a plan.
const oldestRelease = "1.14.0"

// Recipes returns the upstream release archive and, for versions that are known to build, a build
// from Go modules.
func (o *Options) Recipes(version string) ([]recipe.Recipe, error) {
	if !regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`).MatchString(version) {
		return nil, fmt.Errorf("the version of consul must be one such as 1.16.0, got %q", version)
	}
	if err := database.CheckOldest(Name, version, oldestRelease); err != nil {
		return nil, err
	}
	const site = "https://releases.hashicorp.com/consul/{version}/"
	recipes := []recipe.Recipe{recipe.Archive{
		About:       recipe.About{Source: "https://developer.hashicorp.com/consul/install", NotTried: true},
		URL:         site + "consul_{version}_{os}_{arch}.zip",
		ChecksumURL: site + "consul_{version}_SHA256SUMS",
		Files:       map[string]string{Name: "consul"},
	}}
	build, ok := goBuild(version)
	if ok {
		recipes = append(recipes, build)
	}
	return recipes, nil
}

// goBuild returns the recipe that builds a version, and whether there is one.
func goBuild(version string) (recipe.GoBuild, bool) {
	mod, modErr := releases.ReadFile("release/" + version + "/go.mod.txt")
	sum, sumErr := releases.ReadFile("release/" + version + "/go.sum.txt")
	if modErr != nil || sumErr != nil {
		return recipe.GoBuild{}, false
	}
	const module = "github.com/hashicorp/consul"
	about := recipe.About{Source: "https://github.com/hashicorp/consul/blob/v" + version + "/go.mod"}
	if strings.Contains(string(mod), module+"/envoyextensions =>") {
		about.Notes = append(about.Notes, "its in-tree submodules are replaced by their published tags")
	}
	return recipe.GoBuild{
		About: about, GoMod: string(mod), GoSum: string(sum),
		Packages: map[string]string{Name: module}, Module: module,
	}, true
}
