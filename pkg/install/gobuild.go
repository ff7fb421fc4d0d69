package install

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

// buildModule builds in a separate module. Nothing is added to its go.mod and go.sum, so only the
// modules they name, with these hashes, are built.
func (s *stage) buildModule(ctx context.Context, g recipe.GoBuild) error {
	goTool, err := s.in.tool("go")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"go.mod": g.GoMod, "go.sum": g.GoSum} {
		if err := writeNew(filepath.Join(s.work, name), []byte(text)); err != nil {
			return fmt.Errorf("write the module: %w", err)
		}
		if err := writeNew(filepath.Join(s.dir, name+".txt"), []byte(text)); err != nil {
			return fmt.Errorf("keep the module: %w", err)
		}
	}
	// Within the stage, so that a killed build leaves nothing behind elsewhere.
	tmp := filepath.Join(s.work, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return fmt.Errorf("make the build's scratch directory: %w", err)
	}
	// An empty GOFLAGS would not override a value set by "go env -w".
	env := append([]string{
		"CGO_ENABLED=0", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH,
		"GO111MODULE=on", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOTMPDIR=" + tmp,
	}, g.Env...)
	for _, tool := range slices.Sorted(maps.Keys(g.Packages)) {
		out := filepath.Join(s.dir, tool)
		args := []string{
			"build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, g.Packages[tool],
		}
		if err := s.run(ctx, goTool, args, env); err != nil {
			return err
		}
		if err := s.checkBuilt(out, g); err != nil {
			return fmt.Errorf("check the built %s: %w", tool, err)
		}
	}
	return nil
}

// checkBuilt compares the version the toolchain wrote into an executable with the release's.
func (s *stage) checkBuilt(path string, g recipe.GoBuild) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	want := "v" + s.id.version
	if got := strings.TrimSuffix(info.Main.Version, "+incompatible"); info.Main.Path != g.Module || got != want {
		return fmt.Errorf("it is %s@%s, not %s@%s: the recipe's go.mod is for another release", info.Main.Path, info.Main.Version, g.Module, want)
	}
	s.source = g.Module + "@" + info.Main.Version
	s.notes = []string{"built from source with " + info.GoVersion + ", not the project's own release binary"}
	return nil
}
