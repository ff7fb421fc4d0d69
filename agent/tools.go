package agent

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/install/recipe"
	"github.com/coreos/dbtester/pkg/member/toolbox"
	"github.com/coreos/dbtester/pkg/results"
)

// tools returns the tools for req. A requested release must be in the cache, unless this is a dry
// run before it is installed.
func (a *planner) tools(db database.Database, req *pb.StartRequest) (tools, error) {
	if err := a.checkBinary(db, req.GetBinary()); err != nil {
		return tools{}, err
	}
	want := toolbox.Want{Database: db, Version: req.GetVersion(), Install: req.GetInstall()}
	if req.GetBinary() != "" {
		want.Binary = filepath.Clean(req.GetBinary())
	}
	choice, err := toolbox.Choose(want, a.opts.Tools, a.find)
	if err != nil {
		return tools{}, status.Error(codes.FailedPrecondition, err.Error())
	}
	switch choice.Origin {
	case toolbox.Cached:
		r := choice.Release
		if !req.GetDryRun() {
			// The record of a run holds these hashes, so they must match the files.
			if err := r.Verify(); err != nil {
				return tools{}, status.Errorf(codes.FailedPrecondition, "the release %s %s is damaged (remove %s and install it again): %v", db.Name, choice.Version, r.Dir, err)
			}
		}
		return tools{paths: choice.Paths(r.Files), release: &r}, nil
	case toolbox.Absent:
		return a.absent(db, req, choice)
	default:
		return tools{paths: choice.Paths(nil), given: choice.Origin == toolbox.Given}, nil
	}
}

// checkBinary refuses an executable from control that this agent may not run, or that nothing would
// run.
func (a *planner) checkBinary(db database.Database, binary string) error {
	switch {
	case binary == "":
		return nil
	case !a.opts.AllowBinary:
		return status.Errorf(codes.PermissionDenied, "binary %q is refused: the agent was started without --allow-binary", binary)
	case len(db.Info.Tools) == 0:
		return status.Errorf(codes.InvalidArgument, "binary must be empty for %s, whose server is built into dbtester; got %q", db.Name, binary)
	case !filepath.IsAbs(binary):
		return status.Errorf(codes.InvalidArgument, "binary %q is not an absolute path", binary)
	default:
		return nil
	}
}

// absent returns the tools for a release that is not in the cache: in a dry run that precedes an
// install, the tools the release will have.
func (a *planner) absent(db database.Database, req *pb.StartRequest, choice toolbox.Choice) (tools, error) {
	recipes, err := db.Recipes(choice.Version)
	if err != nil {
		return tools{}, status.Error(codes.FailedPrecondition, err.Error())
	}
	if req.GetInstall() && req.GetDryRun() {
		paths, err := a.pending(db.Name, choice.Version, recipes)
		return tools{paths: choice.Paths(paths), pending: true}, err
	}
	return tools{}, status.Errorf(codes.FailedPrecondition,
		"%s %s is not installed here: dbtester install %[1]s@%[2]s, or install: true in the experiment file", db.Name, req.GetVersion())
}

// find returns a release in the cache, or [install.ErrAbsent].
func (a *planner) find(name, version string) (install.Release, error) {
	if a.opts.Cache == "" {
		return install.Release{}, install.ErrAbsent
	}
	return a.installer(nil).Find(name, version)
}

// pending returns the paths to tools as if the release were in the cache. The programs its
// installation needs must exist on this machine.
func (a *planner) pending(name, version string, recipes []recipe.Recipe) (map[string]string, error) {
	paths := map[string]string{}
	own, needed := recipe.Tools(recipes)
	for _, tool := range own {
		paths[tool] = filepath.Join(a.opts.Cache, name, version, tool)
	}
	for _, tool := range needed {
		path, err := exec.LookPath(tool)
		if err != nil {
			return nil, status.Errorf(codes.FailedPrecondition, "%s %s needs %s: %v", name, version, tool, err)
		}
		paths[tool] = path
	}
	return paths, nil
}

// installer returns an installer into this agent's cache. It reports progress.
func (a *planner) installer(progress func(string)) *install.Installer {
	return &install.Installer{Cache: a.opts.Cache, Progress: progress}
}

// releaseOf returns a release as results record it; nil for nil.
func releaseOf(r *install.Release) *results.Release {
	if r == nil {
		return nil
	}
	return &results.Release{Name: r.Name, Version: r.Version, Kind: r.Kind, Source: r.Source, SHA256: r.SHA256, Notes: r.Notes}
}

// commands returns the argv for every command in a plan. Whatever options the request has, only
// this program and the tools may run. Any other executable is refused.
func (a *planner) commands(plan database.Plan, tools map[string]string) ([][]string, error) {
	argv := make([][]string, len(plan.Commands))
	for i, c := range plan.Commands {
		if c.Self && len(a.opts.Self) == 0 {
			return nil, status.Errorf(codes.FailedPrecondition, "command %q runs dbtester itself, but this agent has no command line for it", c.Name)
		}
		if c.Self {
			argv[i] = slices.Concat(a.opts.Self, c.Args)
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(tools)), func(tool string) bool { return within(tool, c.Path) }) {
			return nil, status.Errorf(codes.FailedPrecondition, "command %q must be one of the agent's tools (%[3]s), got %[2]q",
				c.Name, c.Path, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
		}
		argv[i] = slices.Concat([]string{c.Path}, c.Args)
	}
	return argv, nil
}

// within reports whether path is the tool or a file below it.
func within(tool, path string) bool {
	rel, err := filepath.Rel(tool, path)
	return err == nil && filepath.IsLocal(rel)
}
