// Package recipe describes ways to obtain database releases, as data: an archive, a build, jars, a
// copy. Package install follows them.
package recipe

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Recipe is one way to obtain a release, as data: an [Archive], a [GoBuild], a [Checkout], a
// [Maven] or a [Local]. The set is closed. A recipe is for one version. A driver returns its
// recipes for a version in the order in which they are tried.
type Recipe interface {
	// Kind is the word in results for how a release was obtained.
	Kind() string
	// Facts returns the facts every recipe has, whatever its kind.
	Facts() About
	// Layout maps each tool to its path below the release directory.
	Layout() map[string]string
	// Describe names the recipe in progress lines and errors.
	Describe(version string) string
}

var (
	_ Recipe = Archive{}
	_ Recipe = GoBuild{}
	_ Recipe = Checkout{}
	_ Recipe = Maven{}
	_ Recipe = Local{}
)

// About holds the facts every recipe has, whatever its kind. They become part of the release.
type About struct {
	// Source is where the facts are documented.
	Source string
	// Needs are executables on the machine that the release needs to run, such as "java". They are
	// looked up before the recipe is tried, and again whenever the release is found. They join the
	// release tools.
	Needs []string
	// Notes are printed wherever the release is named in a result.
	Notes []string
	// NotTried marks a recipe written from documentation that never ran.
	NotTried bool
}

// Archive is a published .tar.gz, .tgz or .zip with a published checksum.
type Archive struct {
	About
	// URL and ChecksumURL may hold {version}, {os} and {arch}, the latter two as
	// Go spells them. http, https and file URLs and absolute paths are accepted.
	URL string
	// ChecksumURL is a text file with SHA-256 or SHA-512 sums: "HASH FILE" lines, one naming the
	// archive, or one hash alone.
	ChecksumURL string
	// TopFolder is the folder that contains everything in the archive, with the same
	// placeholders; "" without one.
	TopFolder string
	// Files maps each tool to a file or folder below TopFolder. Nothing else in the archive is
	// kept.
	Files map[string]string
}

// GoBuild builds executables from Go modules, stripped and without cgo. GoMod and
// GoSum must be complete, because nothing is added to them (-mod=readonly); the
// same toolchain then gives the same bytes everywhere.
type GoBuild struct {
	About
	// GoMod and GoSum are the text of a go.mod and go.sum that require everything the packages
	// need. They are kept in the release directory.
	GoMod, GoSum string
	// Packages maps each tool to the import path of its main package.
	Packages map[string]string
	// Module is the module that has the main packages. Its version in the built executables must be
	// the release's.
	Module string
	// Env entries are added to the build environment.
	Env []string
}

// Maven copies a Java server and its dependencies into one directory of jars.
type Maven struct {
	About
	// POM is the text of a pom.xml whose runtime dependencies are the release. It may hold
	// {version}.
	POM string
	// Sums are "SHA256  FILE.jar" lines, one for every required jar. Without Sums, only the
	// checksums in the repository check the jars.
	Sums string
	// Artifact is the "GROUP:ARTIFACT" of the dependency whose version is the release's.
	Artifact string
	// Tool is the name of the directory of jars.
	Tool string
}

// Local copies a file or a directory on this machine.
type Local struct {
	About
	// Path is the file or directory.
	Path string
	// Files maps each tool to a file or folder below Path; empty means Path itself.
	Files map[string]string
}

// Checkout builds an executable from its source in a git checkout, stripped and without cgo, with
// the Go on the machine and the workspace of the checkout.
type Checkout struct {
	About
	// Dir is the checkout, Module the folder below Dir that has its Go module, and Package the
	// import path of the main package relative to that folder.
	Dir, Module, Package string
	// Tool is the name of the executable.
	Tool string
	// CommitName is the Go variable that is set to the commit, or "".
	CommitName string
}

// Kind returns "archive".
func (Archive) Kind() string { return "archive" }

// Kind returns "go build".
func (GoBuild) Kind() string { return "go build" }

// Kind returns "maven".
func (Maven) Kind() string { return "maven" }

// Kind returns "local".
func (Local) Kind() string { return "local" }

// Kind returns "checkout".
func (Checkout) Kind() string { return "checkout" }

// Facts returns a.
func (a About) Facts() About { return a }

// At returns the same archive at a mirror. base is an http or https URL, a file URL or a
// directory. It contains the archive and its checksum file under their own names.
func (a Archive) At(base string) Archive {
	base = strings.TrimRight(base, "/")
	a.URL = base + "/" + path.Base(a.URL)
	a.ChecksumURL = base + "/" + path.Base(a.ChecksumURL)
	return a
}

// From returns the recipes for a release at a place the user named: a mirror's base URL, a
// directory with either a mirror's archives or an unpacked release, or an executable. recipes are
// those of the driver for the release, which know the layout.
func From(where string, recipes []Recipe) ([]Recipe, error) {
	if IsWeb(where) {
		return mirrored(where, recipes)
	}
	abs, err := filepath.Abs(where)
	if err != nil {
		return nil, fmt.Errorf("find %q: %w", where, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("find the release: %w", err)
	}
	var out []Recipe
	if info.IsDir() {
		out, _ = mirrored(abs, recipes)
	}
	var seen []map[string]string
	for _, r := range recipes {
		files := r.Layout()
		if !info.IsDir() {
			if len(files) != 1 {
				continue
			}
			files = onlyTool(files)
		}
		if containsMap(seen, files) {
			continue
		}
		seen = append(seen, files)
		out = append(out, Local{About: About{Source: where, Needs: r.Facts().Needs}, Path: abs, Files: files})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q is one file but the release has several", where)
	}
	return out, nil
}

// Tools returns the names, in order, of the release's own tools, and of the machine's tools it also
// needs. They are taken from the first recipe: all recipes for a release give the same tools.
func Tools(recipes []Recipe) (own, needed []string) {
	if len(recipes) == 0 {
		return nil, nil
	}
	return slices.Sorted(maps.Keys(recipes[0].Layout())), slices.Sorted(slices.Values(recipes[0].Facts().Needs))
}

// mirrored returns the archives among recipes, at base.
func mirrored(base string, recipes []Recipe) ([]Recipe, error) {
	var out []Recipe
	for _, r := range recipes {
		if a, ok := r.(Archive); ok {
			out = append(out, a.At(base))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no recipe of this release is an archive that a mirror %q could hold", base)
	}
	return out, nil
}

// onlyTool maps the only tool in files to the copied root.
func onlyTool(files map[string]string) map[string]string {
	for tool := range files {
		return map[string]string{tool: ""}
	}
	return nil
}

func containsMap(list []map[string]string, m map[string]string) bool {
	for _, have := range list {
		if reflect.DeepEqual(have, m) {
			return true
		}
	}
	return false
}

// IsWeb reports whether the place is an http or https URL.
func IsWeb(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}
