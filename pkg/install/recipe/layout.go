package recipe

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// jarFolder is where the jars in a [Maven] release are.
const jarFolder = "lib"

// Layout returns Files.
func (a Archive) Layout() map[string]string { return a.Files }

// Layout puts each executable into the release directory, under the tool name.
func (g GoBuild) Layout() map[string]string {
	layout := map[string]string{}
	for tool := range g.Packages {
		layout[tool] = tool
	}
	return layout
}

// Layout puts the executable into the release directory, under the tool name.
func (c Checkout) Layout() map[string]string { return map[string]string{c.Tool: c.Tool} }

// Layout gives the jars their own folder.
func (m Maven) Layout() map[string]string { return map[string]string{m.Tool: jarFolder} }

// Layout puts a tool that is Path itself under the tool name.
func (l Local) Layout() map[string]string {
	layout := map[string]string{}
	for tool, rel := range l.Files {
		layout[tool] = rel
		if rel == "" {
			layout[tool] = tool
		}
	}
	return layout
}

// Describe names the address of the archive.
func (a Archive) Describe(version string) string { return "archive " + Expand(a.URL, version) }

// Describe names the module.
func (g GoBuild) Describe(version string) string {
	return fmt.Sprintf("go build of %s@v%s", g.Module, version)
}

// Describe names the package and its directory.
func (c Checkout) Describe(string) string {
	return fmt.Sprintf("go build of %s in %s", c.Package, filepath.Join(c.Dir, c.Module))
}

// Describe names the artifact.
func (m Maven) Describe(version string) string {
	return fmt.Sprintf("maven dependencies of %s:%s", m.Artifact, version)
}

// Describe names the copied path.
func (l Local) Describe(string) string { return "copy of " + l.Path }

// Expand fills the placeholders in the text of a recipe.
func Expand(text, version string) string {
	return strings.NewReplacer("{version}", version, "{os}", runtime.GOOS, "{arch}", runtime.GOARCH).Replace(text)
}
